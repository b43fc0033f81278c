use crate::ir::Attr;
use crate::testing::{Model, Value};

/// Experts, rows, and columns of a weight.
const SIZES: [usize; 3] = [2, 4, 32];

fn attrs(more: Vec<(&'static str, Attr<'static>)>) -> Vec<(&'static str, Attr<'static>)> {
    let plain = [
        ("k", Attr::Int(1)),
        ("activation_type", Attr::Str("identity".into())),
        ("normalize_routing_weights", Attr::Int(1)),
    ];
    plain.into_iter().chain(more).collect()
}

/// Experts from 32 to 4 to 32 components. All codes of the first weight are 9, all of the second 10.
fn model(attrs: Vec<(&'static str, Attr<'static>)>, third: bool) -> Model {
    let [experts, inner, hidden] = SIZES;
    let mut model = Model::new();
    model.input::<f32>("x", &[2, hidden]).input::<f32>("logits", &[2, experts]);
    model.constant("up", &[experts, inner, hidden / 2], &[0x99u8; 2 * 4 * 16]);
    model.constant("up_scales", &[experts, inner], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    // Zero points of columns, packed side by side: 8, 7, 9, 9 and 9, 9, 8, 8.
    model.constant("up_zeros", &[experts, 2], &[0x78u8, 0x99, 0x99, 0x88]);
    model.constant("down", &[experts, hidden, 2], &[0xaau8; 2 * 32 * 2]);
    model.constant("down_scales", &[experts, hidden], &[0.5f32; 64]);
    model.domain("com.microsoft").version(1);
    let third = if third { "up" } else { "" };
    let inputs = ["x", "logits", "up", "up_scales", "", "down", "down_scales", "", third, "", "", "up_zeros"];
    model.node("QMoE", &inputs, &["y"], attrs).output("y");
    model
}

fn inputs() -> [Value; 2] {
    [Value::new(&[2, 32], &[1f32; 64]), Value::new(&[2, 2], &[1f32, 0.0, 0.0, 1.0])]
}

#[test]
fn each_expert_has_its_scales_and_zero_points() {
    let y = model(attrs(vec![]), false).run(&inputs()).unwrap();
    // 32 ones times (9 - 8) * 1, (9 - 7) * 2, 0 and 0 are 32 and 128; their sum times (10 - 8) / 2. Then 7 and 8.
    assert_eq!(y[0].dims[..], [2, 32]);
    let expected = [[160f32; 32], [480.0; 32]].concat();
    assert_eq!(y[0].values::<f32>(), expected);
}

#[test]
fn what_is_not_known_is_declined() {
    let declined = |attr: (&'static str, Attr<'static>), third: bool, reason: &str| {
        let mut attrs = attrs(vec![]);
        attrs.retain(|(name, _)| *name != attr.0);
        attrs.push(attr);
        let error = model(attrs, third).run(&inputs()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    declined(("quant_type", Attr::Str("fp4".into())), false, "integers");
    declined(("weights_prepacked", Attr::Int(1)), false, "integers");
    declined(("normalize_routing_weights", Attr::Int(0)), false, "not normalised");
    declined(("expert_weight_bits", Attr::Int(3)), false, "3 bits");
    declined(("block_size", Attr::Int(24)), false, "blocks of 24");
    declined(("block_size", Attr::Int(16)), false, "are not those of experts");
    declined(("k", Attr::Int(1)), true, "third weight");
    declined(("fc2_expert_weight_bits", Attr::Int(8)), false, "'fc2_expert_weight_bits' is not known");
}

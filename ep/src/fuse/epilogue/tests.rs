use crate::fuse::linear::tests::{TOLERANCE, inputs, start};
use crate::fuse::tests::check;
use crate::ir::Attr;

#[test]
fn every_activation_is_taken() {
    let activations = [
        ("", "Relu", vec![]),
        ("", "Sigmoid", vec![]),
        ("", "Tanh", vec![]),
        ("", "Gelu", vec![]),
        ("", "Gelu", vec![("approximate", Attr::Str("tanh".into()))]),
        ("com.microsoft", "Gelu", vec![]),
        ("com.microsoft", "FastGelu", vec![]),
        ("com.microsoft", "QuickGelu", vec![("alpha", Attr::Float(1.0))]),
        ("com.microsoft", "QuickGelu", vec![("alpha", Attr::Float(1.5))]),
    ];
    for (domain, op, attrs) in activations {
        let mut model = start();
        model.node("MatMul", &["x", "weight"], &["product"], vec![]);
        let version = if domain.is_empty() { 21 } else { 1 };
        model.domain(domain).version(version).node(op, &["product"], &["y"], attrs).output("y");
        check(&model, &["spacemit.Linear"], "product", &inputs(), TOLERANCE);
    }
}

#[test]
fn the_bias_of_an_activation_is_taken() {
    let mut model = start();
    model.node("MatMul", &["x", "weight"], &["product"], vec![]);
    model.domain("com.microsoft").version(1).node("BiasGelu", &["product", "bias"], &["y"], vec![]).output("y");
    check(&model, &["spacemit.Linear"], "product", &inputs(), TOLERANCE);
}

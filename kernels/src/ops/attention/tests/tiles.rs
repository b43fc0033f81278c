//! Tiles of different sizes.

use super::*;

#[test]
fn tiles_for_more_ranks_change_no_result() {
    let d = dims(1, [2, 1], 150, 150, [16, 8]);
    let [q, k, v] = inputs(d);
    let inputs = [&q, &k, &v].map(|data| bytemuck::cast_slice(data));
    for (target, causal) in TARGETS.into_iter().flat_map(|target| [(target, false), (target, true)]) {
        let attention = dense(d, [Order::Bsnh, Order::Bnsh, Order::Bnsh], Order::Bsnh, 0.3);
        let attention = if causal { attention.causal(0) } else { attention };
        let [few, many] = [1, 8].map(|workers| attention.clone().on(&Target { workers, ..target }));
        assert_eq!(few.units() == many.units(), target.core == CoreKind::Host);
        assert_eq!(run(&few, 2, &inputs), run(&many, 2, &inputs), "{few}");
    }
}

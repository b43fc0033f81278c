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

#[test]
fn sums_follow_scores_that_grow_from_block_to_block() {
    let d = dims(1, [2, 1], 40, 3 * TILE_KEYS, [64, 64]);
    let [q, mut k, v] = inputs(d);
    for (key, row) in k.chunks_exact_mut(d.head).enumerate() {
        row.iter_mut().for_each(|x| *x *= 1.0 + key as f32 / 16.0);
    }
    let inputs = [&q, &k, &v].map(|data| bytemuck::cast_slice(data));
    let attention = dense(d, [Order::Bsnh, Order::Bnsh, Order::Bnsh], Order::Bsnh, 0.3);
    for target in &TARGETS {
        let out = run(&attention.clone().on(target), 2, &inputs);
        let worst = rounded::error(&attention, [&q, &k, &v], &out, &|_, _| true);
        // Scores below 0.3 * 64 * 49 err by that times eps and the roundings of their sum, weights by twice as much relatively.
        let score = 0.3 * 64.0 * 49.0 * f64::from(f32::EPSILON) * 65.0;
        assert!(worst <= 2.0 * score, "{attention} on {target:?}: {worst}");
    }
}

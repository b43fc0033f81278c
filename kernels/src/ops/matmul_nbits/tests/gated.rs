use super::*;

#[test]
fn a_gate_multiplies_what_it_lets_through() {
    let shape = NBitsShape::new(100, 85, 4, 32).unwrap();
    let (gate, up) = (case(shape, Zero::Whole, false, false), case(shape, Zero::Absent, true, true));
    let biases = floats(85 * 2, 3);
    let host = Target::host(1);
    for (target, m, compute, ranks) in [
        (host, 1, Compute::F32, 2),
        (host, 7, Compute::Int8, 1),
        (host, 40, Compute::Int8, 3),
        (Target::k1(), 3, Compute::Int8, 2),
        (Target::k3(), 20, Compute::F32, 1),
    ] {
        let engine = Engine::new(&target, compute);
        for with in [[false, false], [true, false], [false, true], [true, true]] {
            let a = floats(m * 100, 1);
            let sides = [run(&gate, &a, m, engine, 1), run(&up, &a, m, engine, 1)];
            let side = |side: usize, index: usize| {
                let bias = if with[side] { biases[side * 85 + index % 85] } else { 0.0 };
                f64::from(sides[side][index] + bias)
            };
            let weights = [gate.weights(engine), up.weights(engine)];
            let driver = GatedNBits::new(m, engine, Gate::Silu, weights, with);
            let given = (0..2).filter(|&side| with[side]).map(|side| bytemuck::cast_slice(&biases[side * 85..][..85]));
            let inputs: Vec<&[u8]> = [bytemuck::cast_slice(&a)].into_iter().chain(given).collect();
            let y = run_one::<f32>(driver, ranks, &inputs, m * 85).unwrap();
            for (index, y) in y.iter().enumerate() {
                let (gate, up) = (side(0, index), side(1, index));
                let expected = gate / (1.0 + (-gate).exp()) * up;
                // The vectorised function is documented to a few units in the last place of its largest terms.
                let tolerance = 8.0 * f64::from(f32::EPSILON) * (gate.abs().max(1.0) * up.abs()).max(1.0);
                assert!(
                    (f64::from(*y) - expected).abs() <= tolerance,
                    "{} {index}: {y} is not {expected}",
                    engine.method(m)
                );
            }
        }
    }
}

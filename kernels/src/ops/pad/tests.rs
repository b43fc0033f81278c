use super::*;
use crate::testing::run_one;

/// One output element by walking from outside to the input step by step, as the modes are told in words.
fn element(input: &[u16], axes: &[PadAxis], mode: PadMode, mut position: usize, value: u16) -> u16 {
    let mut flat = 0;
    let mut stride = 1;
    for axis in axes.iter().rev() {
        let out = position % axis.padded();
        position /= axis.padded();
        let low = (-axis.before).max(0);
        let high = axis.len as isize - (-axis.after).max(0) - 1;
        let mut at = out as isize - axis.before;
        while at < low || at > high {
            at = match mode {
                PadMode::Constant => return value,
                PadMode::Edge if at < low => low,
                PadMode::Edge => high,
                PadMode::Wrap if at < low => at + (high - low + 1),
                PadMode::Wrap => at - (high - low + 1),
                PadMode::Reflect if low == high => low,
                PadMode::Reflect if at < low => 2 * low - at,
                PadMode::Reflect => 2 * high - at,
            };
        }
        flat += at as usize * stride;
        stride *= axis.len;
    }
    input[flat]
}

fn check(axes: &[(usize, isize, isize)]) {
    let axes: Vec<PadAxis> = axes.iter().map(|&(len, before, after)| PadAxis { len, before, after }).collect();
    let input: Vec<u16> = (0..axes.iter().map(|axis| axis.len).product::<usize>() as u16).collect();
    let total = axes.iter().map(PadAxis::padded).product();
    for mode in [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap] {
        let want: Vec<u16> = (0..total).map(|i| element(&input, &axes, mode, i, 9999)).collect();
        for ranks in 1..=2 {
            let inputs = [bytemuck::cast_slice(&input), bytemuck::bytes_of(&9999u16)];
            let got = run_one::<u16>(Pad::new(DType::F16, mode, &axes), ranks, &inputs, total).unwrap();
            assert_eq!(got, want, "{mode:?} {axes:?}");
        }
    }
}

#[test]
fn every_mode_against_a_walk_inwards() {
    check(&[(5, 2, 3)]);
    check(&[(4, 9, 11)]);
    check(&[(1, 2, 2)]);
    check(&[(3, 1, 0), (4, 0, 2)]);
    check(&[(2, 0, 0), (3, 2, 1), (5, 0, 0)]);
    check(&[(6, -2, 1), (7, 3, -4), (2, 0, 0)]);
    check(&[(6, -2, -3), (7, 0, 0)]);
    check(&[(2, 1, 1), (150, 3, 5), (130, 0, 7)]);
    check(&[(3, 0, 0), (4, 0, 0)]);
    check(&[]);
}

#[test]
fn a_missing_value_is_zero_and_empty_inputs_pad_with_it() {
    let axes = [PadAxis { len: 0, before: 2, after: 1 }];
    let got = run_one::<u16>(Pad::new(DType::F16, PadMode::Constant, &axes), 1, &[&[]], 3).unwrap();
    assert_eq!(got, [0, 0, 0]);
}

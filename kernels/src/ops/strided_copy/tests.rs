use super::*;
use crate::testing::run_one;

/// The definition, index by index.
fn expected(input: &[u32], dims: &[usize], strides: &[isize], start: usize) -> Vec<u32> {
    let total = crate::tensor::elements(dims);
    let at = |mut position: usize| {
        let mut offset = start as isize;
        for (&dim, stride) in dims.iter().zip(strides).rev() {
            offset += (position % dim) as isize * stride;
            position /= dim;
        }
        input[offset as usize]
    };
    (0..total).map(at).collect()
}

fn check(len: usize, dims: &[usize], strides: &[isize], start: usize) {
    let input: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let want = expected(&input, dims, strides, start);
    for ranks in 1..=3 {
        let driver = StridedCopy::new(DType::F32, dims, strides, start);
        let got = run_one::<u32>(driver, ranks, &[bytemuck::cast_slice(&input)], want.len()).unwrap();
        assert_eq!(got, want, "dims {dims:?} strides {strides:?} start {start} ranks {ranks}");
    }
}

#[test]
fn every_permutation_of_four_axes() {
    for dims in [[2, 3, 5, 7], [1, 17, 4, 33], [3, 1, 16, 15], [2, 0, 3, 4], [5, 31, 1, 129]] {
        let strides = crate::tensor::row_major_strides(&dims);
        for code in 0..256usize {
            let perm = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
            if (0..4).all(|axis| perm.contains(&axis)) {
                let out = perm.map(|axis| dims[axis]);
                check(dims.iter().product(), &out, &perm.map(|axis| strides[axis] as isize), 0);
            }
        }
    }
}

#[test]
fn slices_broadcasts_and_reversals() {
    check(24, &[2, 3], &[-12, 4], 12);
    check(24, &[24], &[-1], 23);
    check(7, &[5, 7], &[0, 1], 0);
    check(5, &[5, 9, 3], &[1, 0, 0], 0);
    check(1, &[4, 4], &[0, 0], 0);
    check(1, &[], &[], 0);
    check(600, &[17, 3, 11], &[1, 17, -51], 51 * 10);
    check(100_000, &[3, 33_000], &[33_000, 1], 500);
    check(90_000, &[300, 300], &[1, 300], 0);
    check(0, &[usize::MAX, usize::MAX, 0], &[7, 1, 1], 0);
}

#[test]
fn every_width_moves_whole_elements() {
    let bytes: Vec<u64> = (0..36u64).map(|i| i * 0x0101_0101_0101_0101).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&bytes);
    for dtype in [DType::I8, DType::F16, DType::I32, DType::I64] {
        let size = dtype.size();
        let input = &bytes[..36 * size];
        let driver = StridedCopy::transpose(dtype, &[4, 9], &[1, 0]);
        let got = run_one::<u8>(driver, 2, &[input], input.len()).unwrap();
        for (position, element) in got.chunks(size).enumerate() {
            let from = (position % 4 * 9 + position / 4) * size;
            assert_eq!(element, &input[from..from + size]);
        }
    }
}

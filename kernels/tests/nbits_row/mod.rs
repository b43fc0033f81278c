//! One row by panels of weights of few bits.

use kernels::table::MATVEC_NBITS;
use kernels::ukr::matvec_nbits;

use crate::Product;
use crate::grid::{Guarded, call, each};

/// A row by a panel whose codes are bytes or halves of bytes, as a row for each group and panels of bytes.
#[test]
fn rows() {
    each(MATVEC_NBITS, |variant, run| {
        let spec = &variant.spec;
        let (m, n, k) = (spec.tile.m, spec.tile.n, spec.tile.k);
        for (groups, k_groups) in [(2, 1), (1, 2), (3, 2), (8, 2), (m + 1, 4), (19, 2), (2, 8)] {
            for (edge, planes) in Guarded::<u8>::EDGES.into_iter().flat_map(|edge| [1, 2].map(|planes| (edge, planes)))
            {
                if k_groups % planes > 0 {
                    continue;
                }
                for has_zero_points in [false, true] {
                    let mut product = Product::new(spec, 1, groups, k_groups * k, has_zero_points);
                    let packed = pack(&mut product.b, product.panel * k, planes);
                    let row = |k_group: usize| &product.a[k_group * k..][..k];
                    let mut a = vec![0; groups * k_groups * m * k];
                    for k_group in 0..groups * k_groups {
                        a[(k_group * m + k_group / k_groups % m) * k..][..k].copy_from_slice(row(k_group));
                    }
                    let spread = |numbers: &[f32]| {
                        let mut spread: Vec<f32> = numbers.iter().flat_map(|x| vec![*x; n]).collect();
                        spread.resize(groups.next_multiple_of(m) * n, 0.0);
                        Guarded::new(&spread, edge)
                    };
                    let (a, b) = (Guarded::new(&a, edge), Guarded::new(&packed, edge));
                    let (a_scales, a_sums) = (spread(&product.a_scales), spread(&product.a_sums));
                    let [b_scales, b_zero_points] =
                        [&product.b_scales, &product.b_zero_points].map(|numbers| Guarded::new(numbers, edge));
                    let mut c = Guarded::new(&vec![7f32; product.panel], edge);
                    let args = matvec_nbits::Args {
                        a: a.as_ptr(),
                        b: b.as_ptr(),
                        a_scales: a_scales.as_ptr(),
                        a_sums: a_sums.as_ptr(),
                        b_scales: b_scales.as_ptr(),
                        b_zero_points: if has_zero_points { b_zero_points.as_ptr() } else { std::ptr::null() },
                        c: c.as_mut_ptr(),
                        groups,
                        k_groups,
                        planes,
                    };
                    // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                    unsafe { call(run, &args) };
                    for (column, actual) in c.iter().enumerate() {
                        let expected = in_turn(&product, column, m);
                        let what = format!("{} {groups} groups of {k_groups} in {planes}", variant.name);
                        assert_eq!(actual.to_bits(), expected.to_bits(), "{what} at {column}");
                    }
                }
            }
        }
    });
}

/// Steps of `step` codes with `planes` codes in a byte; `codes` become those that the bytes stand for.
fn pack(codes: &mut [i8], step: usize, planes: usize) -> Vec<u8> {
    if planes == 1 {
        return codes.iter().map(|&code| code as u8).collect();
    }
    codes.iter_mut().for_each(|code| *code = (*code as u8 & 0xf0) as i8);
    let pairs = codes.chunks(2 * step).map(|pair| pair.split_at(step));
    pairs.flat_map(|(low, high)| low.iter().zip(high).map(|(&low, &high)| low as u8 >> 4 | high as u8)).collect()
}

/// The product of a row and a column, whose groups are added to `m` sums in turn.
fn in_turn(product: &Product, column: usize, m: usize) -> f32 {
    let mut sums = vec![0f32; m];
    (0..product.groups).for_each(|group| sums[group % m] = product.add(group, 0, column, sums[group % m]));
    while sums.len() > 1 {
        let upper = sums.split_off(sums.len() / 2);
        sums.iter_mut().zip(upper).for_each(|(sum, upper)| *sum += upper);
    }
    sums[0]
}

//! The micro-kernels of weights of few bits, between guard pages: products against loops that round where their contract says
//! so, the others against plain loops.

mod grid;
mod nbits_f16;
mod nbits_row;

use grid::{Guarded, call, each, sequence};
use kernels::table::{DEQUANTIZE_I8_F32, MATMUL_NBITS, MatMulSpec, QUANTIZE_F32_I8, UNPACK_I8};
use kernels::ukr::{dequantize_i8_f32, matmul_nbits, quantize_f32_i8, unpack_i8};

fn bytes(len: usize, seed: u32) -> Vec<i8> {
    // One number in four is an end of its range.
    let byte = |x: u32| match x & 7 {
        0 => -128,
        1 => 127,
        _ => (x >> 8) as i8,
    };
    sequence(len, seed).map(byte).collect()
}

fn numbers(len: usize, seed: u32) -> Vec<f32> {
    sequence(len, seed).map(|x| x as f32 / (1 << 22) as f32 - 2.0).collect()
}

/// Operands of a product of some groups.
struct Product {
    rows: usize,
    panel: usize,
    k: usize,
    k_groups: usize,
    groups: usize,
    a: Vec<i8>,
    b: Vec<i8>,
    a_scales: Vec<f32>,
    a_sums: Vec<f32>,
    b_scales: Vec<f32>,
    b_zero_points: Vec<f32>,
    c: Vec<f32>,
}

impl Product {
    fn new(spec: &MatMulSpec, rows: usize, groups: usize, group: usize, has_zero_points: bool) -> Self {
        let (panel, k) = (spec.layout.panel(), spec.tile.k);
        let (of_rows, of_columns) = (groups * rows, groups * panel);
        // Symmetric rows, as quantisation makes them.
        let a: Vec<i8> = bytes(of_rows * group, 1).into_iter().map(|a| a.max(-127)).collect();
        let zero_points = sequence(of_columns, 6).map(|x| (x % 256) as f32 - 128.0);
        Self {
            rows,
            panel,
            k,
            k_groups: group / k,
            groups,
            b: bytes(of_columns * group, 2),
            a_scales: numbers(of_rows, 3),
            a_sums: sequence(of_rows, 4).map(|x| (x % 4001) as f32 - 2000.0).collect(),
            b_scales: numbers(of_columns, 5),
            b_zero_points: if has_zero_points { zero_points.collect() } else { Vec::new() },
            c: numbers(rows * panel, 7),
            a,
        }
    }

    fn expected(&self, row: usize, column: usize, c: f32) -> f32 {
        (0..self.groups).fold(c, |c, group| self.add(group, row, column, c))
    }

    /// `c` and the products of a group.
    fn add(&self, group: usize, row: usize, column: usize, c: f32) -> f32 {
        let steps = group * self.k_groups..(group + 1) * self.k_groups;
        let elements = steps.flat_map(|step| (0..self.k).map(move |lane| (step, lane)));
        let product = |(step, lane): (usize, usize)| {
            let a = self.a[(step * self.rows + row) * self.k + lane];
            i32::from(a) * i32::from(self.b[(step * self.panel + column) * self.k + lane])
        };
        let sum = elements.map(product).sum::<i32>() as f32;
        let (row, column) = (group * self.rows + row, group * self.panel + column);
        let zero_point = self.b_zero_points.get(column).copied().unwrap_or_default();
        let x = (-zero_point).mul_add(self.a_sums[row], sum);
        (x * self.a_scales[row]).mul_add(self.b_scales[column], c)
    }
}

#[test]
fn products() {
    each(MATMUL_NBITS, |variant, run| {
        let spec = &variant.spec;
        let (m, n) = (spec.tile.m, spec.tile.n);
        for rows in (m..=spec.block.m).step_by(m) {
            for (groups, group) in [(0, 32), (1, 16), (1, 32), (2, 16), (3, 32), (2, 64), (3, 128)] {
                for (edge, has_zero_points) in Guarded::<u8>::EDGES.into_iter().zip([false, true]) {
                    let product = Product::new(spec, rows, groups, group, has_zero_points);
                    let (a, b) = (Guarded::new(&product.a, edge), Guarded::new(&product.b, edge));
                    let [a_scales, a_sums] = [&product.a_scales, &product.a_sums].map(|numbers| {
                        let copies = numbers.iter().flat_map(|x| vec![*x; spec.copies()]);
                        Guarded::new(&copies.collect::<Vec<f32>>(), edge)
                    });
                    let [b_scales, b_zero_points] = [&product.b_scales, &product.b_zero_points].map(|numbers| {
                        let copies = numbers.chunks(n).flat_map(|columns| columns.repeat(spec.column_copies()));
                        Guarded::new(&copies.collect::<Vec<f32>>(), edge)
                    });
                    let mut c = Guarded::new(&product.c, edge);
                    let args = matmul_nbits::Args {
                        a: a.as_ptr(),
                        b: b.as_ptr(),
                        a_scales: a_scales.as_ptr(),
                        a_sums: a_sums.as_ptr(),
                        b_scales: b_scales.as_ptr(),
                        b_zero_points: if has_zero_points { b_zero_points.as_ptr() } else { std::ptr::null() },
                        c: c.as_mut_ptr(),
                        groups,
                        k_groups: product.k_groups,
                        rows,
                    };
                    // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                    unsafe { call(run, &args) };
                    for (index, (&actual, &old)) in c.iter().zip(&product.c).enumerate() {
                        let (tile, inside) = (index / (m * n), index % (m * n));
                        let across = product.panel / n;
                        let (row, column) = (tile / across * m + inside / n, tile % across * n + inside % n);
                        let expected = product.expected(row, column, old);
                        let what = format!("{} rows={rows} groups={groups} of {group}", variant.name);
                        assert_eq!(actual.to_bits(), expected.to_bits(), "{what} at [{row}, {column}]");
                    }
                }
            }
        }
    });
}

/// The codes, the scale and the sum of the codes of a group; `None` when a number is not finite.
fn quantized(x: &[f32]) -> Option<(Vec<i8>, f32, f32)> {
    let largest = x.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    if !x.iter().all(|x| x.is_finite()) {
        return None;
    }
    if largest < quantize_f32_i8::LEAST {
        return Some((vec![0; x.len()], 0.0, 0.0));
    }
    let codes: Vec<i8> = x.iter().map(|x| (x * (127.0 / largest)).round_ties_even() as i8).collect();
    let sum = codes.iter().map(|&code| f32::from(code)).sum();
    Some((codes, largest / 127.0, sum))
}

#[test]
fn quantized_groups() {
    each(QUANTIZE_F32_I8, |variant, run| {
        let lengths = [(0, 32), (1, 16), (31, 32), (64, 16), (100, 32), (300, 32), (300, 64), (257, 128), (1300, 128)];
        for (len, group) in lengths.into_iter().chain([(640, 96), (700, 64), (333, 8)]) {
            for (special, edge) in (0..7).flat_map(|special| Guarded::<u8>::EDGES.map(|edge| (special, edge))) {
                let mut x = numbers(len, 1);
                let fill = [1.0, 0.0, 1e-40, 1e-36, f32::NAN, f32::INFINITY, f32::MAX][special];
                x.iter_mut()
                    .skip(len / 2)
                    .take(if special > 3 { 1 } else { group * (special > 0) as usize })
                    .for_each(|x| *x = fill);
                let (x, mut y) = (Guarded::new(&x, edge), Guarded::new(&vec![99i8; len], edge));
                let filled = vec![7f32; len.div_ceil(group)];
                let [mut scales, mut sums] = [0, 1].map(|_| Guarded::new(&filled, edge));
                let (scales_out, sums_out) = (scales.as_mut_ptr(), sums.as_mut_ptr());
                let args = quantize_f32_i8::Args {
                    x: x.as_ptr(),
                    y: y.as_mut_ptr(),
                    scales: scales_out,
                    sums: sums_out,
                    len,
                    group,
                };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                for (index, (x, y)) in x.chunks(group).zip(y.chunks(group)).enumerate() {
                    let what = format!("{} len={len} group={group} with {fill}: {index}", variant.name);
                    match quantized(x) {
                        Some(expected) => assert_eq!((y.to_vec(), scales[index], sums[index]), expected, "{what}"),
                        None => assert!(scales[index].is_nan(), "{what}"),
                    }
                }
            }
        }
    });
}

#[test]
fn unpacked_codes() {
    each(UNPACK_I8, |variant, run| {
        for (step, steps) in [(32, 0), (32, 1), (32, 7), (128, 3), (512, 2)] {
            for edge in Guarded::<u8>::EDGES {
                let planes = 8 / variant.spec;
                let x: Vec<u8> = bytes(step * steps, 1).iter().map(|&x| x as u8).collect();
                let (x, mut y) = (Guarded::new(&x, edge), Guarded::new(&vec![99i8; x.len() * planes], edge));
                let args = unpack_i8::Args { x: x.as_ptr(), y: y.as_mut_ptr(), step, steps };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                let low = |x: &[u8]| x.iter().map(|x| x.wrapping_mul(16) as i8).collect::<Vec<_>>();
                let high = |x: &[u8]| x.iter().map(|x| (x / 16 * 16) as i8).collect::<Vec<_>>();
                let expected: Vec<i8> = match variant.spec {
                    4 => x.chunks(step).flat_map(|x| [low(x), high(x)].concat()).collect(),
                    _ => x.iter().map(|&x| x as i8).collect(),
                };
                assert_eq!(&*y, expected, "{} step={step} steps={steps}", variant.name);
            }
        }
    });
}

#[test]
fn dequantized_rows() {
    each(DEQUANTIZE_I8_F32, |variant, run| {
        for rows in [0, 1, 2, 33] {
            for (edge, has_zero_points) in Guarded::<u8>::EDGES.into_iter().zip([false, true]) {
                let (x, mut y) = (Guarded::new(&bytes(rows * 32, 1), edge), Guarded::new(&vec![7f32; rows * 32], edge));
                let [scales, zero_points] = [2, 3].map(|seed| Guarded::new(&numbers(32, seed), edge));
                let args = dequantize_i8_f32::Args {
                    x: x.as_ptr(),
                    y: y.as_mut_ptr(),
                    scales: scales.as_ptr(),
                    zero_points: if has_zero_points { zero_points.as_ptr() } else { std::ptr::null() },
                    rows,
                };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                for (index, (x, y)) in x.iter().zip(y.iter()).enumerate() {
                    let zero_point = if has_zero_points { zero_points[index % 32] } else { 0.0 };
                    let expected = (f32::from(*x) - zero_point) * scales[index % 32];
                    assert_eq!(*y, expected, "{} rows={rows} at {index}", variant.name);
                }
            }
        }
    });
}

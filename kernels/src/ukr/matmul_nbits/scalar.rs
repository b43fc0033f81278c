use super::Args;

/// The twin of the layout with panels of `P` columns in groups of `K`, whose `C` has tiles of `M` rows by `N` columns.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn run<const P: usize, const K: usize, const M: usize, const N: usize>(args: &Args) {
    let (copies, column_copies) = (if M > 1 { N } else { 1 }, M.div_ceil(2));
    for group in 0..args.groups {
        for (row, column) in (0..args.rows).flat_map(|row| (0..P).map(move |column| (row, column))) {
            let row_of_group = (group * args.rows + row) * copies;
            let column_of_group = (group * (P / N) + column / N) * column_copies * N + column % N;
            let tile = row / M * (P / N) + column / N;
            // SAFETY: the contract gives all operands so many groups of rows and columns, and `C` all tiles.
            unsafe {
                let product = dot::<P, K>(args, group, row, column) as f32;
                let x = match args.b_zero_points.is_null() {
                    true => product,
                    false => {
                        let zero_point = *args.b_zero_points.add(column_of_group);
                        (-zero_point).mul_add(*args.a_sums.add(row_of_group), product)
                    }
                };
                let c = &mut *args.c.add((tile * M + row % M) * N + column % N);
                let scaled = x * *args.a_scales.add(row_of_group);
                *c = scaled.mul_add(*args.b_scales.add(column_of_group), *c);
            }
        }
    }
}

/// The exact product of a group of a row and of a column.
///
/// # Safety
/// The contract of [`Args`].
unsafe fn dot<const P: usize, const K: usize>(args: &Args, group: usize, row: usize, column: usize) -> i32 {
    let first = group * args.k_groups;
    let products = (first..first + args.k_groups).map(|k_group| {
        // SAFETY: the contract gives both sides so many groups of `K` numbers.
        let (a, b) = unsafe {
            let (a, b) = (args.a.add((k_group * args.rows + row) * K), args.b.add((k_group * P + column) * K));
            (&*a.cast::<[i8; K]>(), &*b.cast::<[i8; K]>())
        };
        a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>()
    });
    products.sum()
}

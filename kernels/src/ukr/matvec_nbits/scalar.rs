use super::Args;

/// The twin of the layout with panels of `P` columns in groups of `K`, whose tile has `M` rows and `N` columns.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn run<const P: usize, const K: usize, const M: usize, const N: usize>(args: &Args) {
    for column in 0..P {
        let mut sums = [0f32; M];
        for group in 0..args.groups {
            // SAFETY: the contract gives both sides so many groups, with a scale and a sum for each.
            unsafe {
                let mut x = dot::<P, K, M>(args, group, column) as f32;
                let (of_row, of_column) = (group * N, group * P + column);
                if !args.b_zero_points.is_null() {
                    x = (-*args.b_zero_points.add(of_column)).mul_add(*args.a_sums.add(of_row), x);
                }
                let sum = &mut sums[group % M];
                *sum = (x * *args.a_scales.add(of_row)).mul_add(*args.b_scales.add(of_column), *sum);
            }
        }
        let mut left = M;
        while left > 1 {
            left /= 2;
            (0..left).for_each(|row| sums[row] += sums[row + left]);
        }
        // SAFETY: the contract gives `C` a number for each column.
        unsafe { *args.c.add(column) = sums[0] };
    }
}

/// The exact product of a group of the row and of a column.
///
/// # Safety
/// The contract of [`Args`].
unsafe fn dot<const P: usize, const K: usize, const M: usize>(args: &Args, group: usize, column: usize) -> i32 {
    let first = group * args.k_groups;
    let products = (first..first + args.k_groups).map(|k_group| {
        let (step, plane) = (k_group / args.planes, k_group % args.planes);
        // SAFETY: the contract gives `A` so many groups of `M` times `K` numbers, and `B` so many steps of `P` times `K`.
        let (a, b) = unsafe {
            let a = args.a.add((k_group * M + group % M) * K);
            (&*a.cast::<[i8; K]>(), &*args.b.add((step * P + column) * K).cast::<[u8; K]>())
        };
        let code = |byte: u8| match (args.planes, plane) {
            (1, _) => byte as i8,
            (_, 0) => (byte << 4) as i8,
            _ => (byte & 0xf0) as i8,
        };
        a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(code(b))).sum::<i32>()
    });
    products.sum()
}

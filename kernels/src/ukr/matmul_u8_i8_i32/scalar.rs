use super::Args;

/// The twin of every layout with tile `M x N x K`.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn run<const M: usize, const N: usize, const K: usize>(args: &Args) {
    for row_panel in 0..args.row_panels {
        for column_panel in 0..args.column_panels {
            let mut tile = [[0i32; N]; M];
            for group in 0..args.k_groups {
                // SAFETY: `Args` makes both panels `k_groups` groups long.
                let (a, b) = unsafe {
                    let a = args.a.add(row_panel * args.a_stride + group * M * K);
                    let b = args.b.add(column_panel * args.b_stride + group * N * K);
                    (&*a.cast::<[[u8; K]; M]>(), &*b.cast::<[[i8; K]; N]>())
                };
                for (a, sums) in a.iter().zip(&mut tile) {
                    for (b, sum) in b.iter().zip(sums) {
                        let dot: i32 = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
                        *sum = sum.wrapping_add(dot);
                    }
                }
            }
            for (row, sums) in tile.iter().enumerate() {
                // SAFETY: `Args` makes the rows and columns of the tile part of `C`.
                unsafe {
                    let c = args.c.byte_add((row_panel * M + row) * args.c_stride).add(column_panel * N);
                    c.copy_from_nonoverlapping(sums.as_ptr(), N);
                }
            }
        }
    }
}

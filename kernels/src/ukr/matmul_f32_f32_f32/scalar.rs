use super::Args;

/// The twin of every layout with panels of `N` columns.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn run<const N: usize>(args: &Args) {
    for row in 0..args.rows {
        for panel in 0..args.column_panels {
            let mut sums = [0f32; N];
            for depth in 0..args.k {
                // SAFETY: `Args` gives `A` so many rows and columns, and each panel so many groups.
                let (a, b) = unsafe {
                    let a = args.a.byte_add(row * args.a_row_stride + depth * args.a_k_stride);
                    let b = args.b.byte_add(panel * args.b_stride).add(depth * N);
                    (*a, &*b.cast::<[f32; N]>())
                };
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
            }
            // SAFETY: `Args` makes these columns part of `C`.
            unsafe {
                let c = args.c.byte_add(row * args.c_stride).add(panel * N);
                c.copy_from_nonoverlapping(sums.as_ptr(), N);
            }
        }
    }
}

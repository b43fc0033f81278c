//! Rows packed in groups.

use kernels::table::PACK_ROWS;
use kernels::ukr::pack_rows::{Args, GROUP};

use crate::grid::{Guarded, call, each, sequence};

#[test]
fn rows_are_packed_in_groups_with_zeros_where_they_end() {
    each(PACK_ROWS, |variant, run| {
        let width = variant.spec;
        for bytes in [1, 15, 16, 17, 64, 72, 73, 127, 128, 129, 200, 256, 1000] {
            for rows in [1, 2, 3, width - 1, width] {
                for edge in Guarded::<u8>::EDGES {
                    let stride = bytes + 3;
                    let x: Vec<u8> = sequence(rows * stride - 3, 1).map(|x| x as u8 | 1).collect();
                    let filled = vec![0xa5; bytes.div_ceil(GROUP) * width * GROUP];
                    let (x, mut y) = (Guarded::new(&x, edge), Guarded::new(&filled, edge));
                    let args = Args { x: x.as_ptr(), x_stride: stride, rows, bytes, y: y.as_mut_ptr() };
                    // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                    unsafe { call(run, &args) };
                    for (index, &y) in y.iter().enumerate() {
                        let (group, row, inside) = (index / GROUP / width, index / GROUP % width, index % GROUP);
                        let at = group * GROUP + inside;
                        let expected = if row < rows && at < bytes { x[row * stride + at] } else { 0 };
                        assert_eq!(y, expected, "{} of {rows} rows of {bytes} bytes at {index}", variant.name);
                    }
                }
            }
        }
    });
}

use crate::pack::{Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::tensor::Element;
use crate::vector;

/// [`pack_panel`], where it is a transpose, or groups are moved, by the vectors of the worker's core if there are any.
pub(super) fn pack<T: Element>(
    worker: Option<&Worker<'_>>,
    rows: Rows<'_, T>,
    width: usize,
    k_group: usize,
    panel: &mut [T],
) {
    let Rows { data, rows: count, k, strides: [stride, depth_stride] } = rows;
    let is_transpose = count == width && k_group == 1 && depth_stride == 1 && stride > 1;
    if let Some(worker) = worker.filter(|_| is_transpose) {
        assert_eq!(panel.len(), panel_len(width, k, k_group), "length of a panel");
        if vector::transpose(worker, data, stride, panel, width, [k, width]) {
            return;
        }
    }
    if let Some(worker) = worker.filter(|_| depth_stride == 1) {
        assert_eq!(panel.len(), panel_len(width, k, k_group), "length of a panel");
        if vector::pack_rows(worker, (data, stride), [count, k], [width, k_group], panel) {
            return;
        }
    }
    pack_panel(rows, width, k_group, panel);
}

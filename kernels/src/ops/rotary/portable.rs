//! Rows on the host, and on cores without vectors.

/// Turns the pairs of `row`, each by the angle with this cosine and sine.
#[inline(always)]
pub(super) fn turn(row: &mut [f32], pairs: usize, interleaved: bool, angle: impl Fn(usize) -> (f32, f32)) {
    if interleaved {
        for (index, pair) in row.chunks_exact_mut(2).take(pairs).enumerate() {
            let ((cos, sin), (a, b)) = (angle(index), (pair[0], pair[1]));
            (pair[0], pair[1]) = (a * cos - b * sin, a * sin + b * cos);
        }
        return;
    }
    let (first, rest) = row.split_at_mut(pairs);
    for (index, (x, y)) in first.iter_mut().zip(&mut rest[..pairs]).enumerate() {
        let ((cos, sin), (a, b)) = (angle(index), (*x, *y));
        (*x, *y) = (a * cos - b * sin, a * sin + b * cos);
    }
}

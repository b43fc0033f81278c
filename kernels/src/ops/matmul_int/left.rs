use std::ops::Range;

/// Type of `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftSide {
    /// i8 instead of u8.
    pub signed: bool,
    pub zero_point: ZeroPoint,
}

/// The zero point operand of `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroPoint {
    /// No operand; the zero point is 0.
    Absent,
    /// One for the whole of `A`.
    Tensor,
    /// One for each row.
    Rows,
}

impl LeftSide {
    /// `u8` or `i8`.
    pub(in crate::ops) fn type_name(self) -> &'static str {
        if self.signed { "i8" } else { "u8" }
    }

    /// `bytes` of `A` as they are multiplied.
    pub(in crate::ops) fn unsigned<'a>(self, bytes: &'a [u8], stage: &'a mut [u8]) -> &'a [u8] {
        if !self.signed {
            return bytes;
        }
        let stage = &mut stage[..bytes.len()];
        stage.iter_mut().zip(bytes).for_each(|(unsigned, &x)| *unsigned = x ^ 0x80);
        stage
    }

    /// The zero points of `rows` as they are multiplied; `operand` is the zero point operand, if there is one.
    pub(in crate::ops) fn read_zero_points(self, rows: &Range<usize>, operand: &[u8], zero_points: &mut [i32]) {
        let value = |x: u8| if self.signed { i32::from(x as i8) + 128 } else { i32::from(x) };
        match self.zero_point {
            ZeroPoint::Absent => zero_points.fill(value(0)),
            ZeroPoint::Tensor => zero_points.fill(value(operand[0])),
            ZeroPoint::Rows => {
                let given = &operand[rows.clone()];
                zero_points.iter_mut().zip(given).for_each(|(zero_point, &x)| *zero_point = value(x));
            }
        }
    }
}

/// `sum a - k az` for each row of `a` (row-major `[rows, k]`).
pub(in crate::ops) fn row_sums(a: &[u8], k: usize, zero_points: &[i32], sums: &mut [i32]) {
    for (row, (sum, zero_point)) in sums.iter_mut().zip(zero_points).enumerate() {
        let elements: i32 = a[row * k..(row + 1) * k].iter().map(|&x| i32::from(x)).sum();
        *sum = elements - k as i32 * zero_point;
    }
}

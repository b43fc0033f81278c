use crate::tensor::DType;

/// Most rows that meet the rows in place at a time.
pub const ROWS: usize = 8;

/// Which rows a variant reads in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Their element, f32 or f16.
    pub of: DType,
    pub widths: Widths,
    /// What the number of rows is a multiple of.
    pub group: usize,
    /// Whether what they are multiplied with is rounded to f16.
    pub rounds: bool,
}

impl InPlace {
    /// Whether it reads rows of `width` such elements that begin `stride` elements apart; `rounds` where rounding is allowed.
    pub fn fits(&self, of: DType, [width, stride]: [usize; 2], rounds: bool) -> bool {
        self.of == of && self.widths.have(width, stride) && self.rounds <= rounds
    }
}

/// Columns of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    Any,
    /// A multiple of so many columns.
    MultipleOf(usize),
    /// So many columns, without gaps between the rows.
    Dense(usize),
}

impl Widths {
    /// Whether rows of `width` elements that begin `stride` elements apart are of these.
    pub fn have(self, width: usize, stride: usize) -> bool {
        match self {
            Widths::Any => true,
            Widths::MultipleOf(columns) => width.is_multiple_of(columns),
            Widths::Dense(columns) => [width, stride] == [columns; 2],
        }
    }
}

/// Sizes of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionDims {
    pub batch: usize,
    /// Heads of the queries and the output.
    pub heads: usize,
    /// Heads of the keys and values; divides `heads`.
    pub kv_heads: usize,
    pub queries: usize,
    pub keys: usize,
    /// Elements of a query or key.
    pub head: usize,
    /// Elements of a value.
    pub value_head: usize,
}

/// Order of the dimensions of a dense operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `[batch, sequence, head, column]`
    Bsnh,
    /// `[batch, head, sequence, column]`
    Bnsh,
    /// `[batch, head, column, sequence]`
    Bnhs,
}

impl Order {
    /// Strides of a dense operand of this order.
    pub fn strided(self, heads: usize, rows: usize, cols: usize) -> Strided {
        let batch = heads * rows * cols;
        match self {
            Order::Bsnh => Strided { offset: 0, batch, head: cols, row: heads * cols, col: 1 },
            Order::Bnsh => Strided { offset: 0, batch, head: rows * cols, row: cols, col: 1 },
            Order::Bnhs => Strided { offset: 0, batch, head: rows * cols, row: 1, col: rows },
        }
    }
}

/// Where a `[batch, head, row, col]` operand lies in its buffer: an offset and strides, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    pub offset: usize,
    pub batch: usize,
    pub head: usize,
    pub row: usize,
    pub col: usize,
}

impl Strided {
    /// The part of the buffer that begins `offset` elements later.
    pub fn shifted(mut self, offset: usize) -> Self {
        self.offset += offset;
        self
    }

    /// Index of the first element of a row.
    pub(crate) fn at(&self, batch: usize, head: usize, row: usize) -> usize {
        self.offset + batch * self.batch + head * self.head + row * self.row
    }

    /// Adds the columns of a row, which begins with `data`, to `to`.
    pub(super) fn add_row(&self, data: &[f32], to: &mut [f32]) {
        if self.col == 1 {
            to.iter_mut().zip(data).for_each(|(to, x)| *to += x);
        } else {
            to.iter_mut().enumerate().for_each(|(index, to)| *to += data[index * self.col]);
        }
    }
}

//! Caches of keys and values: what the attention operators share.

use kernels::ops::attention::{AttentionDims, CacheFormat, Order, Span, Spans, Strided};
use kernels::ops::kv_append::KvAppend;
use kernels::ops::rotary::HeadRows;
use kernels::tensor::{DType, elements};

use crate::plan::{Bind, BindError, Buf};

/// The format of a cache of the model's own float type.
pub(super) fn float_format(dtype: DType) -> CacheFormat {
    if dtype == DType::F16 { CacheFormat::F16 } else { CacheFormat::F32 }
}

/// The spans of a batch and their operands.
#[derive(Clone)]
pub(super) struct BoundSpans {
    pub spans: Spans,
    pub operands: Vec<Buf>,
}

impl BoundSpans {
    /// `new` positions behind `past` ones, for all sequences.
    pub fn same(past: usize, new: usize) -> Self {
        Self { spans: Spans::Same(Span { keys: past + new, first: past as isize }), operands: Vec::new() }
    }
}

/// New rows of heads and what happens to them on their way.
pub(super) struct NewRows {
    pub buf: Buf,
    pub at: Strided,
    pub rows: HeadRows,
    /// Those of `rows`.
    pub operands: Vec<Buf>,
}

impl NewRows {
    /// Rows that stay as they are.
    pub fn plain(buf: Buf, at: Strided, [batch, rows, width]: [usize; 3]) -> Self {
        let rows = HeadRows { batch, rows, width, norm: None, rotation: None };
        Self { buf, at, rows, operands: Vec::new() }
    }
}

/// A cache of keys or of values as an operator has it.
pub(super) struct Cache {
    pub heads: usize,
    /// Type of the elements as they are stored.
    pub dtype: DType,
    pub format: CacheFormat,
    pub scales: Option<Buf>,
    /// The past cache and its positions.
    pub past: Option<(Buf, usize)>,
    /// Positions of the present cache.
    pub present: usize,
}

impl Cache {
    /// A cache in the model's float type: input `past`, `[batch, heads, positions, width]`, grown by `new` positions.
    pub fn grown(b: &Bind<'_>, past: usize, dims: [usize; 3], new: usize, dtype: DType) -> Result<Self, BindError> {
        let [batch, heads, width] = dims;
        let held = match b.has_input(past) {
            true => Some((b.input(past)?, past_positions(&b.dims(past)?, batch, heads, width)?)),
            false => None,
        };
        let present = held.map_or(0, |(_, positions)| positions) + new;
        Ok(Self { heads, dtype, format: float_format(dtype), scales: None, past: held, present })
    }

    /// Positions that are there already.
    pub fn held(&self) -> usize {
        self.past.map_or(0, |(_, positions)| positions)
    }

    /// Where `[batch, heads, positions, width]` lie in the present cache.
    pub fn at(&self, width: usize) -> Strided {
        Order::Bnsh.strided(self.heads, self.present, width)
    }

    /// Appends `new` and gives the present cache: output `output`, or storage of the operator's own when nobody reads that.
    pub fn append(&self, b: &mut Bind<'_>, output: usize, new: NewRows, spans: &BoundSpans) -> Result<Buf, BindError> {
        let HeadRows { batch, width, .. } = new.rows;
        let stored = self.format.bytes(width) / self.dtype.size();
        let dims = [batch, self.heads, self.present, stored];
        let present = match b.has_output(output) {
            true => b.output(output, self.dtype, &dims)?,
            false => b.temp(self.dtype, elements(&dims))?,
        };
        self.append_to(b, present, [0; 2], new, spans);
        Ok(present)
    }

    /// Appends `new` to the cache that begins at element `offsets[1]` of `present`; the past one at `offsets[0]`.
    pub fn append_to(&self, b: &mut Bind<'_>, present: Buf, offsets: [usize; 2], new: NewRows, spans: &BoundSpans) {
        let driver = KvAppend {
            heads: self.heads,
            x: new.at,
            rows: new.rows,
            format: self.format,
            past: self.past.map(|(_, positions)| positions),
            present: self.present,
            offsets,
            spans: spans.spans,
        };
        let mut operands = vec![new.buf];
        operands.extend(self.past.map(|(buf, _)| buf));
        operands.extend(new.operands);
        operands.extend(self.scales);
        operands.extend(&spans.operands);
        b.step(driver, &operands, &[present]);
    }
}

/// Keys and values that an attention reads.
pub(super) struct KeysAndValues {
    pub k: (Buf, Strided),
    pub v: (Buf, Strided),
    pub format: CacheFormat,
    /// Positions that were there before the new ones.
    pub held: usize,
}

impl KeysAndValues {
    /// `k` and `v` themselves or, when the operator has the inputs `past` or its outputs `present` are read, what caches hold
    /// with them appended: `[batch, kv_heads, positions, head]` in the model's float type. `dims` counts the new keys.
    pub fn extended(
        b: &mut Bind<'_>,
        dims: &AttentionDims,
        dtype: DType,
        [k, v]: [(Buf, Strided); 2],
        past: [usize; 2],
        present: [usize; 2],
    ) -> Result<Self, BindError> {
        if !b.has_input(past[0]) && !present.iter().any(|&output| b.has_output(output)) {
            return Ok(Self { k, v, format: CacheFormat::F32, held: 0 });
        }
        let &AttentionDims { batch, kv_heads, keys, head, value_head, .. } = dims;
        let k_cache = Cache::grown(b, past[0], [batch, kv_heads, head], keys, dtype)?;
        let v_cache = Cache::grown(b, past[1], [batch, kv_heads, value_head], keys, dtype)?;
        let held = k_cache.held();
        if held != v_cache.held() {
            return Err(BindError::new(format!("{held} past keys and {} past values are given", v_cache.held())));
        }
        let spans = BoundSpans::same(held, keys);
        let k = k_cache.append(b, present[0], NewRows::plain(k.0, k.1, [batch, keys, head]), &spans)?;
        let v = v_cache.append(b, present[1], NewRows::plain(v.0, v.1, [batch, keys, value_head]), &spans)?;
        Ok(Self { k: (k, k_cache.at(head)), v: (v, v_cache.at(value_head)), format: k_cache.format, held })
    }
}

/// Positions of a past cache of shape `dims`, which must be `[batch, heads, positions, width]`.
pub(super) fn past_positions(dims: &[usize], batch: usize, heads: usize, width: usize) -> Result<usize, BindError> {
    match *dims {
        [b, h, positions, w] if [b, h, w] == [batch, heads, width] => Ok(positions),
        _ => Err(BindError::new(format!(
            "a past of shape {dims:?} is not [{batch}, {heads}, positions, {width}]: batch, heads, positions, head size"
        ))),
    }
}

use kernels::ops::attention::{Attention as Driver, AttentionDims, CacheFormat, Order, Spans, Strided, UndefinedRow};
use kernels::ops::rotary::{HeadRows, Positions, Rotary, Rotation};
use kernels::tensor::{DType, elements};

use super::*;
use crate::ops::Op;
use crate::ops::attention_cache::{BoundSpans, Cache, NewRows, past_positions};
use crate::ops::attention_mask::{Masked, scale_or_default};
use crate::plan::{Bind, BindError, Buf};

/// Sizes of a run.
struct Sizes {
    batch: usize,
    seq: usize,
    width: usize,
    /// Value of total_sequence_length.
    total: usize,
    /// Positions of the past and of the present caches.
    past: Option<usize>,
    present: usize,
}

impl Op for GroupQueryAttention {
    fn shape_inputs(&self) -> &[usize] {
        &[TOTAL_SEQUENCE_LENGTH]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let sizes = self.sizes(b)?;
        let [q, k, v] = self.projections(b, &sizes)?;
        let spans = self.spans(b, &sizes)?;
        let q = self.turned(b, q, &sizes, &spans)?;
        let k = self.new_rows(b, k, &sizes, K_NORM)?;
        let v = NewRows::plain(v.0, v.1, [sizes.batch, sizes.seq, sizes.width]);
        let mut operands = vec![q.0];
        let mut caches = Vec::new();
        let parts = [(k, PAST_KEY, K_SCALE, self.caches[0]), (v, PAST_VALUE, V_SCALE, self.caches[1])];
        for (index, (new, past, scale, (dtype, format))) in parts.into_iter().enumerate() {
            let cache = Cache {
                heads: self.kv_heads,
                dtype,
                format,
                scales: if format.is_scaled() { Some(self.scales(b, scale, sizes.width)?) } else { None },
                past: sizes.past.map(|positions| Ok((b.input(past)?, positions))).transpose()?,
                present: sizes.present,
            };
            operands.push(cache.append(b, 1 + index, new, &spans)?);
            caches.push(cache);
        }
        self.attend(b, &sizes, q.1, operands, &caches, spans)
    }
}

impl GroupQueryAttention {
    fn sizes(&self, b: &Bind<'_>) -> Result<Sizes, BindError> {
        let query = b.dims(QUERY)?;
        let packed = !b.has_input(KEY);
        let columns = if packed { self.heads + 2 * self.kv_heads } else { self.heads };
        let &[batch, seq, hidden] = query.as_slice() else {
            return Err(BindError::new(format!("a query of shape {:?} has not 3 dimensions", query.as_slice())));
        };
        if !hidden.is_multiple_of(columns) {
            return Err(BindError::new(format!("a query of {hidden} columns does not have {columns} heads")));
        }
        let width = hidden / columns;
        if !width.is_multiple_of(2) && self.caches.iter().any(|(_, format)| *format == CacheFormat::U4) {
            return Err(BindError::new(format!("rows of {width} elements do not fill bytes with two each")));
        }
        for index in [KEY, VALUE].into_iter().filter(|_| !packed) {
            let dims = b.dims(index)?;
            if dims.as_slice() != [batch, seq, self.kv_heads * width] {
                let dims = dims.as_slice();
                return Err(BindError::new(format!(
                    "input {index} of shape {dims:?} does not fit the query {query:?}"
                )));
            }
        }
        let total = b.known_i64(TOTAL_SEQUENCE_LENGTH)?;
        let total = total.first().and_then(|&total| usize::try_from(total).ok()).filter(|&total| total >= seq);
        let total =
            total.ok_or_else(|| BindError::new(format!("total_sequence_length is below the {seq} new ones")))?;
        let past = match b.has_input(PAST_KEY) {
            true => Some(self.past(b, [batch, width])?),
            false => None,
        };
        Ok(Sizes { batch, seq, width, total, past, present: past.unwrap_or(0).max(total) })
    }

    fn past(&self, b: &Bind<'_>, [batch, width]: [usize; 2]) -> Result<usize, BindError> {
        let positions = |index: usize, (dtype, format): (DType, CacheFormat)| {
            let stored = format.bytes(width) / dtype.size();
            past_positions(&b.dims(index)?, batch, self.kv_heads, stored)
        };
        let (keys, values) = (positions(PAST_KEY, self.caches[0])?, positions(PAST_VALUE, self.caches[1])?);
        match keys == values {
            true => Ok(keys),
            false => Err(BindError::new(format!("{keys} past keys and {values} past values are given"))),
        }
    }

    /// Buffers of q, k and v, and where their heads are.
    fn projections(&self, b: &mut Bind<'_>, sizes: &Sizes) -> Result<[(Buf, Strided); 3], BindError> {
        let (seq, width) = (sizes.seq, sizes.width);
        let query = b.input_f32(QUERY)?;
        if b.has_input(KEY) {
            let at = |heads: usize| Order::Bsnh.strided(heads, seq, width);
            let (key, value) = (b.input_f32(KEY)?, b.input_f32(VALUE)?);
            return Ok([(query, at(self.heads)), (key, at(self.kv_heads)), (value, at(self.kv_heads))]);
        }
        let packed = Order::Bsnh.strided(self.heads + 2 * self.kv_heads, seq, width);
        let starts = [0, self.heads, self.heads + self.kv_heads];
        Ok(starts.map(|head| (query, packed.shifted(head * width))))
    }

    fn spans(&self, b: &Bind<'_>, sizes: &Sizes) -> Result<BoundSpans, BindError> {
        let counted = b.has_input(QUERY_SEQLENS);
        let mut operands = Vec::new();
        for index in [SEQLENS_K, QUERY_SEQLENS].into_iter().take(1 + usize::from(counted)) {
            if elements(&b.dims(index)?) != sizes.batch {
                return Err(BindError::new(format!("input {index} has not one element for each sequence")));
            }
            operands.push(b.input(index)?);
        }
        // The bias covers the total length only.
        let capacity = if b.has_input(ATTENTION_BIAS) { sizes.total.min(sizes.present) } else { sizes.present };
        Ok(BoundSpans { spans: Spans::Last { queries: sizes.seq, capacity, counted }, operands })
    }

    /// Rows of queries or keys, with the norm of input `norm` and the rotation.
    fn new_rows(
        &self,
        b: &mut Bind<'_>,
        (buf, at): (Buf, Strided),
        sizes: &Sizes,
        norm: usize,
    ) -> Result<NewRows, BindError> {
        let mut new = NewRows::plain(buf, at, [sizes.batch, sizes.seq, sizes.width]);
        if self.norm.is_some() {
            if b.dims(norm)?.as_slice() != [sizes.width] {
                return Err(BindError::new(format!("input {norm} has not {} elements", sizes.width)));
            }
            new.rows.norm = self.norm;
            new.operands.push(b.input_f32(norm)?);
        }
        if let Some(interleaved) = self.rotary {
            let (cos, sin) = (b.dims(COS)?, b.dims(SIN)?);
            let &[cached, pairs] = cos.as_slice() else {
                return Err(BindError::new(format!("cosines of shape {:?} have not 2 dimensions", cos.as_slice())));
            };
            if cos != sin || pairs > sizes.width / 2 {
                let (cos, sin) = (cos.as_slice(), sin.as_slice());
                return Err(BindError::new(format!("caches {cos:?} and {sin:?} do not fit heads of {}", sizes.width)));
            }
            new.operands.extend([b.input_f32(COS)?, b.input_f32(SIN)?]);
            let mut positions = Positions::Span;
            if b.has_input(POSITION_IDS) {
                if b.dims(POSITION_IDS)?.as_slice() != [sizes.batch, sizes.seq] {
                    return Err(BindError::new("position_ids are not [batch, sequence]"));
                }
                // Of the ids of a first prompt only the first counts.
                let first_prompt = sizes.seq == sizes.total && !b.has_input(QUERY_SEQLENS);
                positions = if first_prompt { Positions::From } else { Positions::Each };
                new.operands.push(b.input(POSITION_IDS)?);
            }
            new.rows.rotation = Some(Rotation { pairs, interleaved, positions, cached });
        }
        Ok(new)
    }

    /// The queries as attention takes them.
    fn turned(
        &self,
        b: &mut Bind<'_>,
        q: (Buf, Strided),
        sizes: &Sizes,
        spans: &BoundSpans,
    ) -> Result<(Buf, Strided), BindError> {
        let new = self.new_rows(b, q, sizes, Q_NORM)?;
        if new.rows.operands() == 0 {
            return Ok(q);
        }
        let HeadRows { batch, rows, width, .. } = new.rows;
        let out = Order::Bsnh.strided(self.heads, rows, width);
        let turned = b.temp(DType::F32, elements(&[batch, rows, self.heads, width]))?;
        let mut operands = vec![new.buf];
        operands.extend(new.operands);
        operands.extend(&spans.operands);
        b.step(Rotary { heads: self.heads, x: new.at, out, rows: new.rows, spans: spans.spans }, &operands, &[turned]);
        Ok((turned, out))
    }

    /// Scales of a cache: one, or one for each head and column.
    fn scales(&self, b: &Bind<'_>, index: usize, width: usize) -> Result<Buf, BindError> {
        let (given, channels) = (elements(&b.dims(index)?), self.kv_heads * width);
        match given == 1 || given == channels {
            true => b.input(index),
            false => Err(BindError::new(format!("{given} scales are given, not 1 or {channels}"))),
        }
    }

    fn attend(
        &self,
        b: &mut Bind<'_>,
        sizes: &Sizes,
        q: Strided,
        mut operands: Vec<Buf>,
        caches: &[Cache],
        spans: BoundSpans,
    ) -> Result<(), BindError> {
        let &Sizes { batch, seq, width, total, present, .. } = sizes;
        let (heads, kv_heads) = (self.heads, self.kv_heads);
        let dims =
            AttentionDims { batch, heads, kv_heads, queries: seq, keys: present, head: width, value_head: width };
        let kv = caches[0].at(width);
        let scale = scale_or_default(self.scale, width);
        let mut driver = Driver::new(dims, q, kv, kv, Order::Bsnh, scale)
            .spans(spans.spans)
            .by_position(self.causal)
            .cached(caches[0].format, caches[1].format)
            .softcap(self.softcap)
            .undefined_row(UndefinedRow::ZeroIfHidden)
            .shared_by(self.workers, total);
        operands.extend(spans.operands);
        operands.extend(caches.iter().filter_map(|cache| cache.scales));
        if let Some(keys) = self.window {
            driver = driver.window(keys);
        }
        if b.has_input(HEAD_SINK) {
            if b.dims(HEAD_SINK)?.as_slice() != [heads] {
                return Err(BindError::new("the head sinks are not one for each head"));
            }
            driver = driver.head_sinks();
            operands.push(b.input_f32(HEAD_SINK)?);
        } else if self.smooth {
            driver = driver.zero_sink();
        }
        let dims = AttentionDims { keys: total, ..dims };
        let mut masked = Masked { dims, driver, operands };
        if b.has_input(ATTENTION_BIAS) {
            masked = masked.bias(b, ATTENTION_BIAS)?;
        }
        let y = b.output_f32(0, self.dtype, &[batch, seq, heads * width])?;
        masked.step(b, y)
    }
}

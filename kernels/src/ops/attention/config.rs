use std::fmt;

use crate::isa::{CoreKind, Target};
use crate::ops::blocks::Blocks;
use crate::select;

use super::sizes::CHIP_PANELS;
use super::{
    Attention, AttentionDims, CacheFormat, Order, PART_KEYS, Sink, Source, Span, Spans, Strided, UndefinedRow,
};

impl Attention {
    /// `q` locates `[batch, heads, queries, head]`, `k` `[batch, kv_heads, keys, head]` and `v`
    /// `[batch, kv_heads, keys, value_head]` in their inputs; they may be parts of one packed buffer.
    ///
    /// # Panics
    /// When `kv_heads` does not divide `heads`.
    pub fn new(dims: AttentionDims, q: Strided, k: Strided, v: Strided, out: Order, scale: f32) -> Self {
        assert!(dims.kv_heads > 0 && dims.heads.is_multiple_of(dims.kv_heads), "kv_heads must divide heads");
        // Without heads there is nothing to do, but a group is divided by.
        let group = (dims.heads / dims.kv_heads).max(1);
        let source = |at| Source { at, format: CacheFormat::F32, scales: None, group };
        Self {
            dims,
            q,
            k: source(k),
            v: source(v),
            out: out.strided(dims.heads, dims.queries, dims.value_head),
            scale,
            biases: Default::default(),
            spans: Spans::Same(Span { keys: dims.keys, first: 0 }),
            spans_at: 0,
            causal: false,
            window: usize::MAX,
            softcap: 0.0,
            sink: Sink::None,
            undefined_row: UndefinedRow::Nan,
            rounds: false,
            room: 0,
            panels: 1,
            parts: 1,
            operands: 3,
            blocks: None,
            matrix: None,
        }
    }

    /// Multiplies by the kernels of the target, where it has any, in place of the host's engine.
    pub fn on(mut self, target: &Target) -> Self {
        self.blocks = Blocks::new(target.core, select::f32_layout(target));
        let layout = select::f16_layout(target).filter(|_| target.core.isa().ime2);
        self.matrix = layout.and_then(|layout| Blocks::new(target.core, layout));
        self.room = if target.core == CoreKind::A100 { 382 << 10 } else { 126 << 10 };
        self.panels = CHIP_PANELS;
        // The blocks of keys that a window leaves begin where a tile does, and results must not depend on the ranks.
        let may_be_small = self.packed_blocks().is_some() && self.window == usize::MAX;
        while may_be_small && self.panels > 1 && self.units() < 2 * target.workers {
            self.panels /= 2;
        }
        self
    }

    /// Adds a term to the scores: an input read as `[batch, heads, queries, keys]`, where stride 0 broadcasts.
    pub fn bias(mut self, bias: Strided) -> Self {
        self.add_bias(bias);
        self
    }

    /// [`Attention::bias`] in place.
    pub fn add_bias(&mut self, bias: Strided) {
        self.biases.push((self.operands, bias));
        self.operands += 1;
    }

    /// Query `s` sees key `t` only when `t <= s + offset`.
    pub fn causal(self, offset: isize) -> Self {
        let span = Span { keys: self.dims.keys, first: offset };
        self.spans(Spans::Same(span)).by_position(true)
    }

    /// [`Attention::causal`] beside what hides keys already, when all sequences are alike.
    ///
    /// # Panics
    /// When the spans are operands.
    pub fn bounded(mut self, offset: isize) -> Self {
        let Spans::Same(span) = &mut self.spans else { panic!("spans of a run have bounds of their own") };
        span.first = if self.causal { span.first.min(offset) } else { offset };
        self.by_position(true)
    }

    /// Only the keys of each sequence's span are visible. Adds the operands of the spans.
    pub fn spans(mut self, spans: Spans) -> Self {
        self.spans = spans;
        self.spans_at = self.operands;
        self.operands += spans.operands();
        self
    }

    /// When `causal`, a query sees the keys up to its own position only.
    pub fn by_position(mut self, causal: bool) -> Self {
        self.causal = causal;
        self
    }

    /// A query sees the `keys` last keys up to its own position only.
    pub fn window(mut self, keys: usize) -> Self {
        self.window = keys;
        self
    }

    /// Keys and values are kept in these formats. Adds the scales of keys and of values, where the format has them: f32, one
    /// or `[kv_heads, head]`.
    pub fn cached(mut self, keys: CacheFormat, values: CacheFormat) -> Self {
        for (source, format) in [(&mut self.k, keys), (&mut self.v, values)] {
            source.format = format;
            if format.is_scaled() {
                source.scales = Some(self.operands);
                self.operands += 1;
            }
        }
        self
    }

    /// Replaces each scaled score `x` by `cap * tanh(x / cap)` before the biases; 0 switches it off.
    pub fn softcap(mut self, cap: f32) -> Self {
        self.softcap = cap;
        self
    }

    /// Each row has one more score, 0, that has no value.
    pub fn zero_sink(mut self) -> Self {
        self.sink = Sink::Zero;
        self
    }

    /// Each row has one more score without a value. Adds an operand f32 `[heads]`.
    pub fn head_sinks(mut self) -> Self {
        self.sink = Sink::Operand(self.operands);
        self.operands += 1;
        self
    }

    /// All operands, and the weights of values, may be rounded to f16, as those of a model in f16 are. Queries beyond its range are
    /// scaled.
    pub fn rounded(mut self, rounds: bool) -> Self {
        self.rounds = rounds;
        self
    }

    pub fn undefined_row(mut self, value: UndefinedRow) -> Self {
        self.undefined_row = value;
        self
    }

    /// Lets ranks share the keys of a tile, of which `keys` are expected, where the tiles do not keep `ranks` ranks equally
    /// busy.
    pub fn shared_by(mut self, ranks: usize, keys: usize) -> Self {
        let units = self.units();
        let even = ranks / gcd(units, ranks);
        let plenty = units == 0 || units >= 4 * ranks;
        self.parts = if plenty { 1 } else { even.min(keys / PART_KEYS).max(1) };
        self
    }

    /// Elements of storage that ranks which share tiles need.
    pub fn partials(&self) -> usize {
        if self.parts == 1 { 0 } else { self.units() * self.parts * self.tile_rows() * (2 + self.dims.value_head) }
    }
}

impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &self.dims;
        write!(
            f,
            "attention b={} h={}/{} s={} t={} d={}/{}",
            d.batch, d.heads, d.kv_heads, d.queries, d.keys, d.head, d.value_head
        )?;
        if self.causal {
            write!(f, " causal")?;
        }
        if self.k.is_staged() {
            write!(f, " cache={:?}", self.k.format)?;
        }
        if self.parts > 1 {
            write!(f, " parts={}", self.parts)?;
        }
        match self.blocks {
            Some(blocks) => write!(f, " by {}", blocks.name()),
            None => Ok(()),
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

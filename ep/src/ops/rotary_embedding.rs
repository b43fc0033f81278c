//! RotaryEmbedding of ai.onnx and com.microsoft, and MRotaryEmbedding, which has three positions for each token.

use kernels::ops::attention::{Order, Span, Spans};
use kernels::ops::rotary::{HeadRows, Positions, Rotary, Rotation};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "RotaryEmbedding",
        versions: 23..=23,
        inputs: 3..=4,
        outputs: 1..=1,
        attrs: &["interleaved", "num_heads", "rotary_embedding_dim"],
        work: Work::Light,
        lower: |cx| lower(cx, Inputs { cos: 1, sin: 2, ids: 3 }, None),
    },
    OpRow {
        domain: MICROSOFT,
        name: "RotaryEmbedding",
        versions: 1..=1,
        inputs: 4..=4,
        outputs: 1..=1,
        attrs: &["interleaved", "num_heads", "rotary_embedding_dim", "is_packed_batching", "scale"],
        work: Work::Light,
        lower: |cx| lower(cx, Inputs { cos: 2, sin: 3, ids: 1 }, None),
    },
    OpRow {
        domain: MICROSOFT,
        name: "MRotaryEmbedding",
        versions: 1..=1,
        inputs: 4..=4,
        outputs: 1..=1,
        attrs: &[
            "interleaved",
            "num_heads",
            "rotary_embedding_dim",
            "is_packed_batching",
            "scale",
            "mrope_section",
            "mrope_layout",
        ],
        work: Work::Light,
        lower: |cx| lower(cx, Inputs { cos: 2, sin: 3, ids: 1 }, Some(sections(cx)?)),
    },
];

/// Positions of the inputs beside the first.
#[derive(Clone, Copy)]
struct Inputs {
    cos: usize,
    sin: usize,
    ids: usize,
}

struct RotaryEmbedding {
    dtype: DType,
    inputs: Inputs,
    interleaved: bool,
    /// Heads of an input of 3 dimensions, when given.
    heads: Option<usize>,
    /// Leading elements of a head that turn, when not all do.
    turned: Option<usize>,
    /// Of MRotaryEmbedding: which position each pair takes.
    sections: Option<Vec<u8>>,
}

fn lower(cx: &Lower<'_, '_>, inputs: Inputs, sections: Option<Vec<u8>>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [inputs.cos, inputs.sin] {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(inputs.ids) {
        cx.dtype_in(inputs.ids, &[DType::I64])?;
    }
    if cx.attr_int("is_packed_batching", 0)? != 0 {
        return Err(Decline::new(Code::Attribute, "is_packed_batching is not supported"));
    }
    if cx.attr_float("scale", 1.0)? != 1.0 {
        return Err(Decline::new(Code::Attribute, "a scale other than 1 is not supported"));
    }
    let count = |name: &str| match usize::try_from(cx.attr_int(name, 0)?) {
        Ok(value) => Ok(Some(value).filter(|&value| value > 0)),
        Err(_) => Err(Decline::new(Code::Attribute, format!("attribute '{name}' is negative"))),
    };
    let (heads, turned) = (count("num_heads")?, count("rotary_embedding_dim")?);
    if turned.is_some_and(|turned| !turned.is_multiple_of(2)) {
        return Err(Decline::new(Code::Attribute, "rotary_embedding_dim is odd"));
    }
    Ok(Box::new(RotaryEmbedding {
        dtype,
        inputs,
        interleaved: cx.attr_bool("interleaved", false)?,
        heads,
        turned,
        sections,
    }))
}

/// Which of the three positions each pair takes: by chunks, or one after the other as far as the sections reach.
fn sections(cx: &Lower<'_, '_>) -> Result<Vec<u8>, Decline> {
    let wrong = || Decline::new(Code::Attribute, "mrope_section is not three lengths");
    let length = |x: &i64| u16::try_from(*x).ok().map(usize::from);
    let lengths: Option<Vec<usize>> = cx.attr_ints("mrope_section")?.and_then(|list| list.iter().map(length).collect());
    let lengths: [usize; 3] = lengths.and_then(|list| list.try_into().ok()).ok_or_else(wrong)?;
    let chunks = (0u8..3).zip(lengths).flat_map(|(section, len)| std::iter::repeat_n(section, len));
    let mut sections: Vec<u8> = chunks.collect();
    if cx.attr_bool("mrope_layout", false)? {
        sections.fill(0);
        for section in [1, 2] {
            let reach = sections.len().min(3 * lengths[section]);
            sections[..reach].iter_mut().skip(section).step_by(3).for_each(|place| *place = section as u8);
        }
    }
    Ok(sections)
}

impl Op for RotaryEmbedding {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let (cos, sin) = (b.dims(self.inputs.cos)?, b.dims(self.inputs.sin)?);
        let pairs = cos.last().copied().filter(|_| cos == sin);
        let pairs = pairs.ok_or_else(|| BindError::new(format!("caches of shapes {cos:?} and {sin:?} differ")))?;
        let (order, [batch, heads, rows, width]) = match *dims.as_slice() {
            [batch, heads, rows, width] => (Order::Bnsh, [batch, heads, rows, width]),
            [batch, rows, columns] => {
                let width = self.heads.map_or(pairs.saturating_mul(2), |heads| columns / heads);
                let heads = columns.checked_div(width).unwrap_or(0);
                (Order::Bsnh, [batch, heads, rows, width])
            }
            _ => return Err(BindError::new(format!("an input of shape {dims:?} has not 3 or 4 dimensions"))),
        };
        let turned = pairs.saturating_mul(2);
        let fits = self.turned.unwrap_or(width) == turned && turned <= width;
        if !fits || elements(&[batch, heads, rows, width]) != elements(&dims) {
            return Err(BindError::new(format!("an input of shape {dims:?} does not fit caches of shape {cos:?}")));
        }
        let positions = self.positions(b, [batch, rows], pairs)?;
        let cached = elements(&cos[..cos.len() - 1]);
        let expected = if positions == Positions::Gathered { elements(&[batch, rows]) } else { cached };
        if cached != expected || (positions != Positions::Gathered && cos.len() != 2) {
            return Err(BindError::new(format!("caches of shape {cos:?} do not fit {batch} sequences of {rows}")));
        }
        let mut operands = vec![b.input_f32(0)?, b.input_f32(self.inputs.cos)?, b.input_f32(self.inputs.sin)?];
        if positions != Positions::Gathered {
            operands.push(b.input(self.inputs.ids)?);
        }
        let y = b.output_f32(0, self.dtype, &dims)?;
        let rotation = Rotation { pairs, interleaved: self.interleaved, positions, cached };
        let at = order.strided(heads, rows, width);
        let rows = HeadRows { batch, rows, width, norm: None, rotation: Some(rotation) };
        let spans = Spans::Same(Span { keys: 0, first: 0 });
        b.step(Rotary { heads, x: at, out: at, rows, spans }, &operands, &[y]);
        Ok(())
    }
}

impl RotaryEmbedding {
    fn positions(&self, b: &Bind<'_>, [batch, rows]: [usize; 2], pairs: usize) -> Result<Positions, BindError> {
        if !b.has_input(self.inputs.ids) {
            return Ok(Positions::Gathered);
        }
        let ids = b.dims(self.inputs.ids)?;
        match (ids.as_slice(), &self.sections) {
            (&[3, b, r], Some(sections)) if [b, r, sections.len()] == [batch, rows, pairs] => {
                Ok(Positions::Sections(sections.as_slice().into()))
            }
            (&[b, r], None) if [b, r] == [batch, rows] => Ok(Positions::Each),
            (&[1] | &[], None) => Ok(Positions::From),
            (ids, _) => {
                Err(BindError::new(format!("positions of shape {ids:?} do not fit {batch} sequences of {rows}")))
            }
        }
    }
}

#[cfg(test)]
mod tests;

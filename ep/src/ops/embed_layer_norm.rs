//! com.microsoft EmbedLayerNormalization.

use kernels::ops::embed::{EmbedSum, MaskLengths, Positions};
use kernels::ops::norm::{Norm, NormKind};
use kernels::tensor::DType;

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "EmbedLayerNormalization",
    versions: 1..=1,
    inputs: 7..=9,
    outputs: 1..=3,
    attrs: &["epsilon", "mask_index_type"],
    work: Work::Heavy,
    lower,
}];

const IDS: usize = 0;
const SEGMENT_IDS: usize = 1;
const WORD: usize = 2;
const POSITION: usize = 3;
const SEGMENT: usize = 4;
const GAMMA: usize = 5;
const BETA: usize = 6;
const MASK: usize = 7;
const POSITION_IDS: usize = 8;

struct EmbedLayerNormalization {
    epsilon: f32,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    for index in [IDS, SEGMENT_IDS, MASK, POSITION_IDS] {
        if index == IDS || cx.has_input(index) {
            cx.dtype_in(index, &[DType::I32])?;
        }
    }
    for index in [WORD, POSITION, SEGMENT, GAMMA, BETA] {
        if index != SEGMENT || cx.has_input(index) {
            cx.dtype_in(index, &[DType::F32])?;
        }
    }
    if cx.has_input(SEGMENT_IDS) != cx.has_input(SEGMENT) {
        return Err(Decline::new(Code::Input, "segment ids and their embedding are not given together"));
    }
    Ok(Box::new(EmbedLayerNormalization { epsilon: cx.attr_float("epsilon", 1e-12)? }))
}

impl Op for EmbedLayerNormalization {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (ids, word) = (b.dims(IDS)?, b.dims(WORD)?);
        let (&[batch, seq], &[_, width]) = (ids.as_slice(), word.as_slice()) else {
            let (ids, word) = (ids.as_slice(), word.as_slice());
            return Err(BindError::new(format!("ids of shape {ids:?} and a word embedding of shape {word:?}")));
        };
        for (index, columns) in [(POSITION, 2), (SEGMENT, 2), (GAMMA, 1), (BETA, 1)] {
            if b.has_input(index) {
                expect(b, index, |dims| dims.len() == columns && dims.last() == Some(&width))?;
            }
        }
        for index in [SEGMENT_IDS, MASK] {
            if b.has_input(index) {
                expect(b, index, |dims| dims == [batch, seq])?;
            }
        }
        let mut inputs = vec![b.input(IDS)?, b.input(WORD)?, b.input(POSITION)?];
        let mut positions = Positions::Sequence;
        if b.has_input(POSITION_IDS) {
            expect(b, POSITION_IDS, |dims| dims == [batch, seq] || dims == [1, seq])?;
            positions = Positions::Ids(b.dims(POSITION_IDS)?[0]);
            inputs.push(b.input(POSITION_IDS)?);
        }
        let segments = b.has_input(SEGMENT);
        if segments {
            inputs.extend([b.input(SEGMENT_IDS)?, b.input(SEGMENT)?]);
        }
        let dims = [batch, seq, width];
        let sum = match b.has_output(2) {
            true => b.output(2, DType::F32, &dims)?,
            false => b.temp(DType::F32, batch * seq * width)?,
        };
        b.step(EmbedSum { batch, seq, width, positions, segments }, &inputs, &[sum]);
        let y = b.output(0, DType::F32, &dims)?;
        let norm = Norm { beta: true, ..Norm::new(NormKind::Layer, batch * seq, width, self.epsilon) };
        let (gamma, beta) = (b.input(GAMMA)?, b.input(BETA)?);
        b.step(norm, &[sum, gamma, beta], &[y]);
        self.mask_index(b, batch, seq)
    }
}

impl EmbedLayerNormalization {
    /// The number of ones in each row of the mask, 0 without a mask.
    fn mask_index(&self, b: &mut Bind<'_>, batch: usize, seq: usize) -> Result<(), BindError> {
        if !b.has_output(1) {
            return Ok(());
        }
        if !b.has_input(MASK) {
            return b.output_known(1, &[batch], &vec![0i32; batch]);
        }
        let (mask, lengths) = (b.input(MASK)?, b.output(1, DType::I32, &[batch])?);
        b.step(MaskLengths::new(batch, seq), &[mask], &[lengths]);
        Ok(())
    }
}

fn expect(b: &Bind<'_>, index: usize, fits: impl Fn(&[usize]) -> bool) -> Result<(), BindError> {
    let dims = b.dims(index)?;
    match fits(&dims) {
        true => Ok(()),
        false => Err(BindError::new(format!("input {index} has the unexpected shape {:?}", dims.as_slice()))),
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::DType;

    use crate::ops::attention_testing::value;
    use crate::testing::{Model, Value};

    const NAMES: [&str; 9] = ["ids", "seg_ids", "word", "pos", "seg", "gamma", "beta", "mask", "pos_ids"];

    /// Inputs of 2 sequences of 3 tokens and 4 columns, of which those in `absent` are left out.
    fn inputs(absent: &[usize]) -> Vec<Option<Value>> {
        let i32s = |values: &[i32]| Value::new(&[2, 3], values);
        let all = [
            i32s(&[0, 4, 2, 1, 1, 3]),
            i32s(&[0, 1, 1, 0, 0, 1]),
            value(&[5, 4], 1),
            value(&[3, 4], 2),
            value(&[2, 4], 3),
            value(&[4], 4),
            value(&[4], 5),
            i32s(&[1, 1, 0, 1, 0, 0]),
            i32s(&[2, 1, 0, 1, 1, 1]),
        ];
        all.into_iter().enumerate().map(|(index, value)| (!absent.contains(&index)).then_some(value)).collect()
    }

    fn run(inputs: &[Option<Value>], outputs: &[&str]) -> Result<Vec<Value>, crate::Error> {
        let mut model = Model::new();
        let mut given = Vec::new();
        for (name, value) in NAMES.iter().zip(inputs) {
            if let Some(value) = value {
                let shape = value.dims.iter().map(|&dim| crate::ir::Dim::Known(dim)).collect();
                model.input_of(name, value.dtype, shape);
                given.push(value.clone());
            }
        }
        let names: Vec<&str> = NAMES.iter().zip(inputs).map(|(n, v)| if v.is_some() { *n } else { "" }).collect();
        for name in ["y", "sum"] {
            model.typed(name, DType::F32, vec![crate::ir::Dim::Unknown; 3]);
        }
        model.domain("com.microsoft").version(1);
        model.node("EmbedLayerNormalization", &names, outputs, vec![]);
        outputs.iter().filter(|name| !name.is_empty()).for_each(|name| {
            model.output(name);
        });
        model.run(&given)
    }

    #[test]
    fn every_optional_input_may_be_absent() {
        for absent in [&[][..], &[7], &[8], &[7, 8], &[1, 4], &[1, 4, 7, 8]] {
            let given = inputs(absent);
            let outputs = run(&given, &["y", "mask_index", "sum"]).unwrap();
            let floats = |index: usize| given[index].as_ref().map(|value| value.values::<f32>());
            let ids = |index: usize| given[index].as_ref().map(|value| value.values::<i32>());
            for row in 0..6 {
                let at = |table: usize, id: usize, col| floats(table).map_or(0.0, |data| f64::from(data[id * 4 + col]));
                let position = ids(8).map_or(row % 3, |ids| ids[row] as usize);
                let segment = ids(1).map_or(0, |ids| ids[row] as usize);
                let word = ids(0).unwrap()[row] as usize;
                let sum: Vec<f64> =
                    (0..4).map(|col| at(2, word, col) + at(3, position, col) + at(4, segment, col)).collect();
                let mean = sum.iter().sum::<f64>() / 4.0;
                let deviation = (sum.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4.0 + 1e-12).sqrt();
                for (col, x) in sum.iter().enumerate() {
                    let y = (x - mean) / deviation * at(5, 0, col) + at(6, 0, col);
                    assert!((f64::from(outputs[0].values::<f32>()[row * 4 + col]) - y).abs() < 1e-5);
                    assert!((f64::from(outputs[2].values::<f32>()[row * 4 + col]) - x).abs() < 1e-6);
                }
            }
            let lengths = if given[7].is_some() { [2, 1] } else { [0, 0] };
            assert_eq!(outputs[1].values::<i32>(), lengths);
            assert_eq!(run(&given, &["y"]).unwrap()[0], outputs[0]);
        }
    }

    #[test]
    fn ids_outside_a_table_fail_the_run() {
        let mut given = inputs(&[]);
        given[0] = Some(Value::new(&[2, 3], &[0i32, 1, 2, 3, 4, 5]));
        let error = run(&given, &["y"]).unwrap_err().to_string();
        assert!(error.contains("id 5 is not in the 5 rows of the word embedding"), "{error}");
    }

    #[test]
    fn segments_without_a_table_are_declined() {
        assert!(run(&inputs(&[4]), &["y"]).unwrap_err().to_string().contains("declined, input"));
    }
}

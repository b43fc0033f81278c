//! Runs models on the Spacemit provider for another process: `tests/python/emulated.py` starts it in emulation and, with a
//! value of the provider's option `target` as argument, beside it.
//!
//! Standard input has requests: a model, then a graph whose initializers are the model's inputs. The answer, on standard
//! output, is a graph whose initializers are the outputs, the text of an error, which is empty after a success, and the
//! provider's report. Each of these is preceded by its number of bytes as u64, little-endian.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use e2e::onnx::{DataType, GraphProto, TensorProto};
use ort::memory::Allocator;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{DynTensor, DynTensorValueType, TensorElementType, ValueRef};
use prost::Message;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TYPES: [(DataType, TensorElementType); 15] = [
    (DataType::Float, TensorElementType::Float32),
    (DataType::Uint8, TensorElementType::Uint8),
    (DataType::Int8, TensorElementType::Int8),
    (DataType::Uint16, TensorElementType::Uint16),
    (DataType::Int16, TensorElementType::Int16),
    (DataType::Int32, TensorElementType::Int32),
    (DataType::Int64, TensorElementType::Int64),
    (DataType::Bool, TensorElementType::Bool),
    (DataType::Float16, TensorElementType::Float16),
    (DataType::Double, TensorElementType::Float64),
    (DataType::Uint32, TensorElementType::Uint32),
    (DataType::Uint64, TensorElementType::Uint64),
    (DataType::Bfloat16, TensorElementType::Bfloat16),
    (DataType::Uint4, TensorElementType::Uint4),
    (DataType::Int4, TensorElementType::Int4),
];

fn main() -> Result<()> {
    let target = std::env::args().nth(1).unwrap_or("auto".into());
    let folder = e2e::scratch("remote");
    let report = folder.join("report.json");
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(model) = read(&mut input)? {
        let inputs = GraphProto::decode(read(&mut input)?.ok_or("a model without inputs")?.as_slice())?.initializer;
        let result = run(&model, &inputs, &target, &report);
        let (initializer, error) = result.map_or_else(|error| (Vec::new(), error.to_string()), |y| (y, String::new()));
        write(&mut output, &GraphProto { initializer, ..GraphProto::default() }.encode_to_vec())?;
        write(&mut output, error.as_bytes())?;
        write(&mut output, &fs::read(&report).unwrap_or_default())?;
        output.flush()?;
        let _ = fs::remove_file(&report);
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// The next part, or `None` at the end of the input.
fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0; 8];
    match from.read_exact(&mut len) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let mut part = vec![0; u64::from_le_bytes(len) as usize];
    from.read_exact(&mut part)?;
    Ok(Some(part))
}

fn write(to: &mut impl Write, part: &[u8]) -> io::Result<()> {
    to.write_all(&(part.len() as u64).to_le_bytes())?;
    to.write_all(part)
}

/// The outputs of a model, all of whose nodes run on our provider as they are.
fn run(model: &[u8], inputs: &[TensorProto], target: &str, report: &Path) -> Result<Vec<TensorProto>> {
    let report = report.to_str().ok_or("the temporary folder's name is not UTF-8")?;
    let options = [("target", target), ("claim", "all"), ("threads", "2"), ("report", report)];
    let mut session = e2e::builder(&options)?
        .with_disable_cpu_fallback()?
        .with_optimization_level(GraphOptimizationLevel::Disable)?
        .commit_from_memory(model)?;
    let inputs = inputs.iter().map(|input| Ok((input.name.as_str(), value_of(input)?.into_dyn())));
    let outputs = session.run(inputs.collect::<Result<Vec<_>>>()?)?;
    outputs.iter().map(|(name, value)| tensor_of(name, value)).collect()
}

fn value_of(tensor: &TensorProto) -> Result<DynTensor> {
    let known = TYPES.iter().find(|pair| pair.0 as i32 == tensor.data_type);
    let (_, kind) = known.ok_or_else(|| format!("input {} is of type {}", tensor.name, tensor.data_type))?;
    let bytes = tensor.raw_data.as_deref().unwrap_or_default();
    let mut value = DynTensor::new(&Allocator::default(), *kind, tensor.dims.as_slice())?;
    if value.size() != Some(bytes.len()) {
        return Err(format!("input {} has {} bytes, not {:?}", tensor.name, bytes.len(), value.size()).into());
    }
    if !bytes.is_empty() {
        // SAFETY: the tensor is ours, in the memory of this process, and has so many bytes.
        unsafe { value.data_ptr_mut().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    Ok(value)
}

fn tensor_of(name: &str, value: ValueRef<'_>) -> Result<TensorProto> {
    let value = value.downcast::<DynTensorValueType>()?;
    let known = TYPES.iter().find(|pair| pair.1 == *value.data_type());
    let (kind, _) = known.ok_or_else(|| format!("output {name} is of type {}", value.data_type()))?;
    let len = value.size().ok_or("an output of strings")?;
    // SAFETY: the tensor lives, in the memory of this process, and has so many bytes; there is no pointer to none.
    let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(value.data_ptr().cast::<u8>(), len) } };
    Ok(TensorProto {
        dims: value.shape().to_vec(),
        data_type: *kind as i32,
        name: name.to_owned(),
        raw_data: Some(bytes.to_vec()),
        ..TensorProto::default()
    })
}

//! Files of the options `dump_subgraphs` and `dump_tensors`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::tensor::DType;
use prost::Message;

use crate::Error;
use crate::ir::Graph;
use crate::onnx::{model_of, tensor_of};

/// Writes a group as `FOLDER/group-INDEX.onnx`.
///
/// # Errors
/// [`Error::Option`] when it cannot be written.
pub(crate) fn dump_subgraph(folder: &Path, index: usize, graph: &Graph<'_>) -> Result<(), Error> {
    let file = folder.join(format!("group-{index}.onnx"));
    write("dump_subgraphs", &file, &model_of(graph).encode_to_vec())
}

/// Where the tensors of a group's runs go: `FOLDER/group-INDEX/test_data_set_RUN`.
pub(crate) struct TensorDump {
    folder: PathBuf,
    runs: AtomicUsize,
}

/// A value of a run.
pub(crate) struct Dumped<'a> {
    pub name: &'a str,
    pub dtype: DType,
    pub dims: &'a [usize],
    pub bytes: &'a [u8],
}

impl TensorDump {
    pub fn new(folder: &Path, index: usize) -> Self {
        Self { folder: folder.join(format!("group-{index}")), runs: AtomicUsize::new(0) }
    }

    /// Number of the next run.
    pub fn next_run(&self) -> usize {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes the inputs or outputs of a run as `KIND_INDEX.pb`, ONNX's form of test data.
    ///
    /// # Errors
    /// [`Error::Option`] when they cannot be written.
    pub fn write<'a>(&self, run: usize, kind: &str, values: impl Iterator<Item = Dumped<'a>>) -> Result<(), Error> {
        let folder = self.folder.join(format!("test_data_set_{run}"));
        for (index, value) in values.enumerate() {
            let tensor = tensor_of(value.name, value.dtype, value.dims, value.bytes);
            write("dump_tensors", &folder.join(format!("{kind}_{index}.pb")), &tensor.encode_to_vec())?;
        }
        Ok(())
    }
}

fn write(option: &str, file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, bytes)).map_err(|error| Error::Option {
        key: option.into(),
        reason: format!("'{}' cannot be written: {error}", file.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::{ModelProto, TensorProto, graph_of};
    use crate::testing::{Model, Value};

    /// A group y = -x with an option that names `folder`.
    fn run(option: &str, folder: &Path) -> Result<(), Error> {
        let mut model = Model::new();
        model.input::<f32>("x", &[2]).node("Neg", &["x"], &["y"], vec![]).output("y");
        model.run_with(&[(option, folder.to_str().unwrap())], &[Value::new(&[2], &[1f32, 2.0])]).map(|_| ())
    }

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("spacemit-{name}-{}", std::process::id()))
    }

    #[test]
    fn compiled_groups_are_models() {
        let folder = scratch("subgraphs");
        run("dump_subgraphs", &folder).unwrap();
        let bytes = std::fs::read(folder.join("group-0.onnx")).unwrap();
        let read = graph_of(&ModelProto::decode(bytes.as_slice()).unwrap()).unwrap();
        assert!(read.to_string().contains("Neg"), "{read}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn tensors_of_a_run_are_test_data() {
        let folder = scratch("tensors");
        run("dump_tensors", &folder).unwrap();
        let read = |file: &str| {
            let bytes = std::fs::read(folder.join("group-0/test_data_set_0").join(file)).unwrap();
            let tensor = TensorProto::decode(bytes.as_slice()).unwrap();
            (tensor.name, tensor.dims, bytemuck::pod_collect_to_vec::<u8, f32>(&tensor.raw_data.unwrap()))
        };
        assert_eq!(read("input_0.pb"), ("x".into(), vec![2], vec![1.0, 2.0]));
        assert_eq!(read("output_0.pb"), ("y".into(), vec![2], vec![-1.0, -2.0]));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_names_the_option() {
        for option in ["dump_subgraphs", "dump_tensors"] {
            let error = run(option, Path::new("/dev/null/x")).unwrap_err().to_string();
            assert!(error.contains(&format!("'{option}'")) && error.contains("/dev/null/x"), "{error}");
        }
    }
}

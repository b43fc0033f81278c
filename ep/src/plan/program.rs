use std::fmt;
use std::sync::{Arc, OnceLock};

use kernels::tape::{Place, Tape};
use kernels::tensor::{DType, Dims, TensorView};

use crate::profile::StepText;

/// Name and operator of a node, for errors and listings.
#[derive(Clone, Debug)]
pub struct Label {
    pub node: String,
    pub op: String,
}

/// What a program was planned for: shapes of all inputs, and contents of those that decide shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    pub dims: Vec<Dims>,
    /// (input, contents)
    pub contents: Vec<(usize, Vec<u8>)>,
}

impl Binding {
    /// Whether a program for this binding fits `inputs`.
    pub fn fits(&self, inputs: &[TensorView<'_>]) -> bool {
        self.dims.len() == inputs.len()
            && self.dims.iter().zip(inputs).all(|(dims, input)| dims.as_slice() == input.dims)
            && self.contents.iter().all(|(index, bytes)| inputs.get(*index).is_some_and(|input| input.bytes == bytes))
    }
}

/// Steps, memory plan and output shapes for one binding.
pub struct Program {
    pub tape: Tape,
    pub outputs: Vec<(DType, Dims)>,
    pub labels: Arc<[Label]>,
    pub binding: Binding,
    /// What profiles call the steps, made when they are profiled first.
    pub(crate) texts: OnceLock<Arc<[StepText]>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |id: &usize| match &self.tape.buffers()[*id].place {
            Place::Input(index) => format!("in{index}"),
            Place::Output(index) => format!("out{index}"),
            Place::Work(offset) => format!("@{offset}"),
            Place::Const(bytes) => format!("const({})", bytes.len()),
        };
        for step in self.tape.steps() {
            let op = self.labels.get(step.label).map_or("output", |label| &label.op);
            let inputs: Vec<String> = step.inputs.iter().map(place).collect();
            let outputs: Vec<String> = step.outputs.iter().map(place).collect();
            let staged = if self.tape.is_staged(step) { " in tcm" } else { "" };
            writeln!(f, "{op}: {} | {} -> {}{staged}", step.driver, inputs.join(" "), outputs.join(" "))?;
        }
        let req = self.tape.workspace_req();
        writeln!(f, "workspace: {} shared, {} a rank", req.shared, req.per_rank)
    }
}

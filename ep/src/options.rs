mod names;
mod table;
mod values;

use std::path::PathBuf;

use kernels::mem::MemoryBackend;
use kernels::rt::Placement;

use crate::Error;
pub use table::{OPTIONS, OptionRow};

/// Which target the provider plans for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetOption {
    /// The machine the provider runs on.
    #[default]
    Auto,
    Host,
    K1,
    K3,
    X100,
    /// A RISC-V machine with vector registers of so many bits.
    Rvv(usize),
    /// A RISC-V machine without vectors.
    Scalar,
}

/// Which groups are claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimOption {
    /// Groups worth their boundary.
    #[default]
    Auto,
    /// Every node that can run.
    All,
}

/// How claimed nodes are handed to ONNX Runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeOption {
    /// Groups are compiled; a node that is alone in its group runs as a registered kernel.
    #[default]
    Auto,
    /// All nodes are compiled.
    Compile,
    /// Each node runs as a registered kernel, without fusions.
    Kernels,
}

/// To what products with constant weights may round their operands, where that is faster. Each level allows what those
/// before it allow; sums are f32 or exact whatever the level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accuracy {
    /// What the model asks for.
    #[default]
    Fp32,
    /// Both operands to f16, whose largest number is 65504.
    Fp16,
    /// Operands that meet weights of 2, 4 or 8 bits to int8, as `accuracy_level` 4 of `MatMulNBits` does.
    Int8,
}

/// The provider's options; [`OPTIONS`] tells their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub target: TargetOption,
    /// Threads that run a group; `None` leaves it to the provider.
    pub threads: Option<usize>,
    /// Where the threads run and how they wait.
    pub placement: Placement,
    /// Whether sessions with the same workers share them.
    pub share_threads: bool,
    pub mem_backend: MemoryBackend,
    pub accuracy: Accuracy,
    pub claim: ClaimOption,
    pub mode: ModeOption,
    /// Operator types that are left to other providers.
    pub disable_ops: Vec<String>,
    /// Names of nodes that are left to other providers.
    pub disable_nodes: Vec<String>,
    /// Programs that a group keeps.
    pub plan_cache: usize,
    /// Where to write the JSON of claims and declines.
    pub report: Option<PathBuf>,
    /// File for the trace of runs.
    pub profile: Option<PathBuf>,
    /// Folder for the compiled groups as ONNX models.
    pub dump_subgraphs: Option<PathBuf>,
    /// Folder for the inputs and outputs of every run of a group.
    pub dump_tensors: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: TargetOption::default(),
            threads: None,
            placement: Placement::default(),
            share_threads: false,
            mem_backend: MemoryBackend::default(),
            accuracy: Accuracy::default(),
            claim: ClaimOption::default(),
            mode: ModeOption::default(),
            disable_ops: Vec::new(),
            disable_nodes: Vec::new(),
            plan_cache: 16,
            report: None,
            profile: None,
            dump_subgraphs: None,
            dump_tensors: None,
        }
    }
}

impl Options {
    /// Reads options from key and value.
    ///
    /// # Errors
    /// [`Error::Option`] for an unknown key or a value that the key does not take.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        Self::parse_with(pairs, |_| None)
    }

    /// Reads options from key and value, and from environment variables, which `environment` knows.
    ///
    /// # Errors
    /// As [`Options::parse`], and when two names of an option disagree.
    pub fn parse_with<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let mut options = Self::default();
        for given in names::gather(pairs, environment)? {
            options.set(&given.key, &given.value).map_err(|reason| Error::Option { key: given.name, reason })?;
        }
        Ok(options)
    }

    /// These options with some of the dynamic ones changed.
    ///
    /// # Errors
    /// [`Error::Option`] for other keys and for values that a key does not take, and when two names of an option disagree.
    pub(crate) fn changed<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut options = self.clone();
        for given in names::gather(pairs, |_| None)? {
            let outcome = if table::row(&given.key).is_some_and(|row| row.dynamic) {
                options.set(&given.key, &given.value)
            } else {
                let keys: Vec<&str> = OPTIONS.iter().filter(|row| row.dynamic).map(|row| row.key).collect();
                Err(format!("a session that exists can change {} only", keys.join(", ")))
            };
            outcome.map_err(|reason| Error::Option { key: given.name, reason })?;
        }
        Ok(options)
    }

    /// These options where ONNX Runtime has no kernel registry for plugins, which it has from 1.24 on.
    ///
    /// # Errors
    /// [`Error::Option`] when registered kernels are asked for.
    pub fn without_kernels(self) -> Result<Self, Error> {
        match self.mode {
            ModeOption::Auto | ModeOption::Compile => Ok(Self { mode: ModeOption::Compile, ..self }),
            ModeOption::Kernels => {
                Err(Error::Option { key: "mode".into(), reason: "kernels needs ONNX Runtime 1.24 or newer".into() })
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let keys = || OPTIONS.iter().map(|row| row.key).collect::<Vec<_>>().join(", ");
        let row = table::row(key).ok_or_else(|| format!("unknown; the options are {}", keys()))?;
        (row.set)(self, value)
    }
}

#[cfg(test)]
mod tests;

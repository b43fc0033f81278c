use std::fmt;

/// Kind of reason for leaving a node to another provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The operator is not implemented.
    Op,
    Version,
    Attribute,
    DType,
    Rank,
    Input,
    Output,
    /// An input would have to be constant.
    Constant,
    /// A shape depends on data that are computed in the graph.
    Dependency,
    /// The machine cannot run anything.
    Processor,
    /// An option of the user excludes the node.
    Disabled,
    /// The group around the node is not worth its boundary.
    Worth,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Code::Op => "op",
            Code::Version => "version",
            Code::Attribute => "attribute",
            Code::DType => "dtype",
            Code::Rank => "rank",
            Code::Input => "input",
            Code::Output => "output",
            Code::Constant => "constant",
            Code::Dependency => "dependency",
            Code::Processor => "processor",
            Code::Disabled => "disabled",
            Code::Worth => "worth",
        }
    }
}

/// Why a node is left to another provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    pub code: Code,
    pub reason: String,
}

impl Decline {
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

impl fmt::Display for Decline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.reason)
    }
}

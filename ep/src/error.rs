use std::fmt;

/// What went wrong after the provider had promised to run something, or before it could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Option `key` is unknown or its value is not usable.
    Option { key: String, reason: String },
    /// The graph is not well formed.
    Graph(String),
    /// A claimed node cannot be compiled, planned or run.
    Node { node: String, op: String, reason: String },
    /// An input of a run does not fit the compiled group.
    Input { name: String, reason: String },
    /// Threads, memory or files of the system.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Option { key, reason } => write!(f, "option '{key}': {reason}"),
            Error::Graph(reason) => write!(f, "graph: {reason}"),
            Error::Node { node, op, reason } => write!(f, "node '{node}' ({op}): {reason}"),
            Error::Input { name, reason } => write!(f, "input '{name}': {reason}"),
            Error::System(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

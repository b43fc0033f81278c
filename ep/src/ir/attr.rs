use super::Tensor;

/// Value of an attribute.
#[derive(Clone, Debug)]
pub enum Attr<'w> {
    Int(i64),
    Float(f32),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strs(Vec<String>),
    Tensor(Tensor<'w>),
    /// A subgraph; its body is never looked into.
    Graph,
    /// A kind that no claimed operator has.
    Other,
}

/// Attributes of a node by name.
#[derive(Clone, Debug, Default)]
pub struct Attrs<'w>(Vec<(String, Attr<'w>)>);

impl<'w> Attrs<'w> {
    pub fn new(attrs: Vec<(String, Attr<'w>)>) -> Self {
        Self(attrs)
    }

    pub fn get(&self, name: &str) -> Option<&Attr<'w>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, attr)| attr)
    }

    pub fn set(&mut self, name: &str, attr: Attr<'w>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some(entry) => entry.1 = attr,
            None => self.0.push((name.to_owned(), attr)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr<'w>)> {
        self.0.iter().map(|(name, attr)| (name.as_str(), attr))
    }
}

impl std::fmt::Display for Attr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Attr::Int(value) => write!(f, "{value}"),
            Attr::Float(value) => write!(f, "{value:?}"),
            Attr::Str(value) => write!(f, "{value:?}"),
            Attr::Ints(values) => write!(f, "{values:?}"),
            Attr::Floats(values) => write!(f, "{values:?}"),
            Attr::Strs(values) => write!(f, "{values:?}"),
            Attr::Tensor(tensor) => write!(f, "{}{:?}", tensor.dtype, tensor.dims.as_slice()),
            Attr::Graph => f.write_str("graph"),
            Attr::Other => f.write_str("?"),
        }
    }
}

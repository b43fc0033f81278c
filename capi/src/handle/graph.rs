//! Graphs, nodes and values.

use std::marker::PhantomData;
use std::ptr;

use ort_sys::{OrtGraph, OrtNode, OrtValueInfo};

use super::{Attribute, Tensor, TensorType, call, list, text};
use crate::host::Host;
use crate::status::Error;

/// A graph, or a body of a control flow node.
#[derive(Clone, Copy)]
pub(crate) struct Graph<'a> {
    host: Host,
    raw: *const OrtGraph,
    owner: PhantomData<&'a OrtGraph>,
}

/// A node of a graph.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    host: Host,
    raw: *const OrtNode,
    owner: PhantomData<&'a OrtNode>,
}

/// A named value: its type and, for constants, its content.
#[derive(Clone, Copy)]
pub(crate) struct ValueInfo<'a> {
    host: Host,
    raw: *const OrtValueInfo,
    owner: PhantomData<&'a OrtValueInfo>,
}

impl<'a> Graph<'a> {
    /// # Safety
    /// `raw` is a live graph for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtGraph) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    pub(crate) fn name(self) -> Result<&'a str, Error> {
        text!(self, Graph_GetName)
    }

    /// The node that this graph is a body of, where the host tells.
    pub(crate) fn parent(self) -> Result<Option<Node<'a>>, Error> {
        let mut parent = ptr::null();
        call!(self.host, Graph_GetParentNode(self.raw, &mut parent))?;
        // SAFETY: the node around a graph lives at least as long as the graph.
        Ok((!parent.is_null()).then(|| unsafe { Node::new(self.host, parent) }))
    }

    /// Whether this is part of a function operator such as SequenceMap, which ONNX Runtime takes apart later.
    pub(crate) fn is_in_function(self) -> Result<bool, Error> {
        let mut graph = Some(self);
        while let Some(parent) = graph.map(Graph::parent).transpose()?.flatten() {
            if !matches!((parent.domain()?, parent.op_type()?), ("" | "ai.onnx", "If" | "Loop" | "Scan")) {
                return Ok(true);
            }
            graph = parent.graph()?;
        }
        Ok(false)
    }

    /// In the graph's topological order.
    pub(crate) fn nodes(self) -> Result<Vec<Node<'a>>, Error> {
        let nodes = list!(self.host, Graph_GetNumNodes, Graph_GetNodes, self.raw)?;
        // SAFETY: a graph's nodes live as long as the graph.
        Ok(nodes.into_iter().map(|raw| unsafe { Node::new(self.host, raw) }).collect())
    }

    /// Including initializers that a caller may override.
    pub(crate) fn inputs(self) -> Result<Vec<ValueInfo<'a>>, Error> {
        let values = list!(self.host, Graph_GetNumInputs, Graph_GetInputs, self.raw)?;
        Ok(present(self.host, values))
    }

    pub(crate) fn outputs(self) -> Result<Vec<ValueInfo<'a>>, Error> {
        let values = list!(self.host, Graph_GetNumOutputs, Graph_GetOutputs, self.raw)?;
        Ok(present(self.host, values))
    }
}

impl<'a> Node<'a> {
    /// # Safety
    /// `raw` is a live node for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtNode) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    pub(crate) fn raw(self) -> *const OrtNode {
        self.raw
    }

    pub(crate) fn name(self) -> Result<&'a str, Error> {
        text!(self, Node_GetName)
    }

    /// The graph around the node.
    fn graph(self) -> Result<Option<Graph<'a>>, Error> {
        let mut graph = ptr::null();
        call!(self.host, Node_GetGraph(self.raw, &mut graph))?;
        // SAFETY: the graph around a node lives at least as long as the node.
        Ok((!graph.is_null()).then(|| unsafe { Graph::new(self.host, graph) }))
    }

    pub(crate) fn op_type(self) -> Result<&'a str, Error> {
        text!(self, Node_GetOperatorType)
    }

    pub(crate) fn domain(self) -> Result<&'a str, Error> {
        text!(self, Node_GetDomain)
    }

    /// The provider that already took the node; "" if none has.
    pub(crate) fn provider(self) -> Result<&'a str, Error> {
        text!(self, Node_GetEpName)
    }

    pub(crate) fn since_version(self) -> Result<i32, Error> {
        let mut version = 0;
        call!(self.host, Node_GetSinceVersion(self.raw, &mut version))?;
        Ok(version)
    }

    /// By position; `None` where an optional input is left out.
    pub(crate) fn inputs(self) -> Result<Vec<Option<ValueInfo<'a>>>, Error> {
        let values = list!(self.host, Node_GetNumInputs, Node_GetInputs, self.raw)?;
        Ok(optional(self.host, values))
    }

    /// By position; `None` where an optional output is left out.
    pub(crate) fn outputs(self) -> Result<Vec<Option<ValueInfo<'a>>>, Error> {
        let values = list!(self.host, Node_GetNumOutputs, Node_GetOutputs, self.raw)?;
        Ok(optional(self.host, values))
    }

    /// Values of this graph that the node's bodies read.
    pub(crate) fn implicit_inputs(self) -> Result<Vec<ValueInfo<'a>>, Error> {
        let values = list!(self.host, Node_GetNumImplicitInputs, Node_GetImplicitInputs, self.raw)?;
        Ok(present(self.host, values))
    }

    pub(crate) fn attributes(self) -> Result<Vec<Attribute<'a>>, Error> {
        let list = list!(self.host, Node_GetNumAttributes, Node_GetAttributes, self.raw)?;
        // SAFETY: a node's attributes live as long as the node.
        let attribute = |raw| unsafe { Attribute::new(self.host, raw) };
        Ok(list.into_iter().filter(|raw| !raw.is_null()).map(attribute).collect())
    }
}

impl<'a> ValueInfo<'a> {
    pub(crate) fn name(self) -> Result<&'a str, Error> {
        text!(self, GetValueInfoName)
    }

    /// The declared type; `None` unless it is a dense tensor.
    pub(crate) fn tensor_type(self) -> Result<Option<TensorType<'a>>, Error> {
        let mut info = ptr::null();
        call!(self.host, GetValueInfoTypeInfo(self.raw, &mut info))?;
        if info.is_null() {
            return Ok(None);
        }
        // SAFETY: the type lives as long as the value.
        unsafe { TensorType::read(self.host, info) }
    }

    /// Whether the value belongs to the graph around the one that reads it.
    pub(crate) fn is_outer(self) -> Result<bool, Error> {
        let mut outer = false;
        call!(self.host, ValueInfo_IsFromOuterScope(self.raw, &mut outer))?;
        Ok(outer)
    }

    /// The content, if no caller and no node can change it.
    pub(crate) fn constant(self) -> Result<Option<Tensor<'a>>, Error> {
        let (mut constant, mut value) = (false, ptr::null());
        call!(self.host, ValueInfo_IsConstantInitializer(self.raw, &mut constant))?;
        if !constant {
            return Ok(None);
        }
        call!(self.host, ValueInfo_GetInitializerValue(self.raw, &mut value))?;
        // SAFETY: an initializer lives as long as its graph and does not change.
        Ok((!value.is_null()).then(|| unsafe { Tensor::new(self.host, value) }))
    }
}

fn optional<'a>(host: Host, values: Vec<*const OrtValueInfo>) -> Vec<Option<ValueInfo<'a>>> {
    let value = |raw: *const OrtValueInfo| (!raw.is_null()).then_some(ValueInfo { host, raw, owner: PhantomData });
    values.into_iter().map(value).collect()
}

fn present<'a>(host: Host, values: Vec<*const OrtValueInfo>) -> Vec<ValueInfo<'a>> {
    optional(host, values).into_iter().flatten().collect()
}

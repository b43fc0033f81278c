use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::tensor::{DType, Dims, checked_elements};

use super::*;
use crate::Error;
use crate::ir::{Attr, Bytes, Dim, Graph, GraphBuilder, NodeSpec, Tensor, ValueId};

/// The graph of a model, as the tests read it.
///
/// An initializer without contents stands for one whose contents do not matter and becomes zeros. The version of an
/// operator is the node's metadata `since_version`, else that of its operator set.
///
/// # Errors
/// [`Error::Graph`] when the model is not well formed.
pub fn graph_of(model: &ModelProto) -> Result<Graph<'static>, Error> {
    let Some(proto) = &model.graph else { return Err(Error::Graph("the model has no graph".into())) };
    let mut builder = GraphBuilder::new(&proto.name);
    for info in proto.input.iter().chain(&proto.output).chain(&proto.value_info) {
        value(&mut builder, info);
    }
    for tensor in &proto.initializer {
        let id = builder.value(&tensor.name, None, None);
        builder.constant(id, tensor_of(tensor)?);
    }
    for info in &proto.input {
        let id = value(&mut builder, info);
        builder.input(id);
    }
    for (origin, node) in proto.node.iter().enumerate() {
        let spec = node_spec(&mut builder, model, node, origin)?;
        builder.node(spec);
    }
    for info in &proto.output {
        let id = value(&mut builder, info);
        builder.output(id);
    }
    builder.finish()
}

fn value(builder: &mut GraphBuilder<'static>, info: &ValueInfoProto) -> ValueId {
    let tensor = info.r#type.as_ref().and_then(|proto| proto.tensor_type.as_ref());
    let dim = |dim: &DimensionProto| match (dim.dim_value, &dim.dim_param) {
        (Some(size), _) => usize::try_from(size).map_or(Dim::Unknown, Dim::Known),
        (None, Some(name)) => Dim::Symbol(name.as_str().into()),
        (None, None) => Dim::Unknown,
    };
    let shape = tensor.and_then(|tensor| Some(tensor.shape.as_ref()?.dim.iter().map(dim).collect()));
    builder.value(&info.name, tensor.and_then(|tensor| dtype(tensor.elem_type)), shape)
}

fn node_spec(
    builder: &mut GraphBuilder<'static>,
    model: &ModelProto,
    node: &NodeProto,
    origin: usize,
) -> Result<NodeSpec<'static>, Error> {
    let mut ids = |names: &[String]| -> Vec<Option<ValueId>> {
        names.iter().map(|name| (!name.is_empty()).then(|| builder.value(name, None, None))).collect()
    };
    let noted = node.metadata_props.iter().find(|entry| entry.key == "since_version");
    let opset = model.opset_import.iter().find(|opset| opset.domain == node.domain);
    let version = noted.and_then(|entry| entry.value.parse().ok()).or(opset.map(|opset| opset.version as i32));
    let attrs = node.attribute.iter().map(|attr| Ok((attr.name.clone(), attr_of(attr)?)));
    Ok(NodeSpec {
        name: node.name.clone(),
        domain: node.domain.clone(),
        op_type: node.op_type.clone(),
        since_version: version.unwrap_or(1),
        inputs: ids(&node.input),
        outputs: ids(&node.output),
        attrs: attrs.collect::<Result<_, Error>>()?,
        origin,
    })
}

fn attr_of(attr: &AttributeProto) -> Result<Attr<'static>, Error> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match attr.r#type() {
        AttributeType::Float => Attr::Float(attr.f.unwrap_or_default()),
        AttributeType::Int => Attr::Int(attr.i.unwrap_or_default()),
        AttributeType::String => Attr::Str(text(attr.s.as_deref().unwrap_or_default())),
        AttributeType::Floats => Attr::Floats(attr.floats.clone()),
        AttributeType::Ints => Attr::Ints(attr.ints.clone()),
        AttributeType::Strings => Attr::Strs(attr.strings.iter().map(|bytes| text(bytes)).collect()),
        AttributeType::Graph => Attr::Graph,
        AttributeType::Tensor => match &attr.t {
            Some(tensor) => Attr::Tensor(tensor_of(tensor)?),
            None => Attr::Other,
        },
        AttributeType::Undefined => Attr::Other,
    })
}

fn tensor_of(proto: &TensorProto) -> Result<Tensor<'static>, Error> {
    let wrong = |what: &str| Error::Graph(format!("initializer '{}' has {what}", proto.name));
    let dtype = dtype(proto.data_type).ok_or_else(|| wrong("a type that is not supported"))?;
    let dims: Option<Dims> = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let dims = dims.ok_or_else(|| wrong("a negative dimension"))?;
    let elements = checked_elements(&dims).ok_or_else(|| wrong("too many elements"))?;
    let bytes = match &proto.raw_data {
        Some(raw) => AlignedBuf::copy_of(raw),
        None => {
            typed_data(proto, dtype).unwrap_or_else(|| AlignedBuf::zeroed(dtype.bytes(elements).unwrap_or_default()))
        }
    };
    Ok(Tensor { dtype, dims, bytes: Bytes::Owned(Arc::new(bytes)) })
}

/// Contents in the field for the type; types narrower than 32 bits are stored as i32.
fn typed_data(proto: &TensorProto, dtype: DType) -> Option<AlignedBuf> {
    let narrow = |size: usize| -> Vec<u8> {
        proto.int32_data.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect()
    };
    let bytes = match dtype {
        DType::F32 => bytemuck::pod_collect_to_vec(&proto.float_data),
        DType::I64 => bytemuck::pod_collect_to_vec(&proto.int64_data),
        other => narrow(other.size()),
    };
    (!bytes.is_empty()).then(|| AlignedBuf::copy_of(&bytes))
}

fn dtype(data_type: i32) -> Option<DType> {
    Some(match DataType::try_from(data_type).ok()? {
        DataType::Float => DType::F32,
        DataType::Float16 => DType::F16,
        DataType::Bfloat16 => DType::BF16,
        DataType::Double => DType::F64,
        DataType::Int8 => DType::I8,
        DataType::Uint8 => DType::U8,
        DataType::Int16 => DType::I16,
        DataType::Uint16 => DType::U16,
        DataType::Int32 => DType::I32,
        DataType::Uint32 => DType::U32,
        DataType::Int64 => DType::I64,
        DataType::Uint64 => DType::U64,
        DataType::Bool => DType::Bool,
        DataType::Int4 => DType::I4,
        DataType::Uint4 => DType::U4,
        DataType::String | DataType::Undefined => return None,
    })
}

//! A builder of small models over the ONNX messages of `ep::onnx`.

pub use ep::onnx::*;
use prost::Message;

/// `TensorProto.DataType`.
pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;
pub const STRING: i32 = 8;
pub const BOOL: i32 = 9;

/// A declared tensor. Dimensions are separated by commas: a number is a size, a name a symbol, `?` unknown.
pub fn value(name: &str, elem_type: i32, dims: &str) -> ValueInfoProto {
    let dim = |text: &str| DimensionProto {
        dim_value: text.parse().ok(),
        dim_param: (text != "?" && text.parse::<i64>().is_err()).then(|| text.to_owned()),
    };
    let dim = dims.split(',').filter(|text| !text.is_empty()).map(dim).collect();
    let tensor_type = TensorTypeProto { elem_type, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}

/// An initializer of type float.
pub fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: FLOAT,
        name: name.to_owned(),
        raw_data: Some(data.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ..TensorProto::default()
    }
}

/// A node of the ONNX domain. An empty input name stands for a missing optional input.
pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto {
        input: owned(inputs),
        output: owned(outputs),
        name: format!("{op_type}_{}", outputs.join("_")),
        op_type: op_type.to_owned(),
        ..NodeProto::default()
    }
}

/// An integer attribute.
pub fn int(name: &str, i: i64) -> AttributeProto {
    let r#type = AttributeType::Int as i32;
    AttributeProto { name: name.to_owned(), i: Some(i), r#type, ..AttributeProto::default() }
}

/// An attribute that holds a graph.
pub fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        g: Some(Box::new(graph)),
        r#type: AttributeType::Graph as i32,
        ..AttributeProto::default()
    }
}

/// The file content of a model around `graph`: opset 17, IR version 9.
pub fn model(graph: GraphProto) -> Vec<u8> {
    let opset = OperatorSetIdProto { domain: String::new(), version: 17 };
    ModelProto { ir_version: 9, graph: Some(graph), opset_import: vec![opset] }.encode_to_vec()
}

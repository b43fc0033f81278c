//! The ONNX messages that dumps and tests need.
//!
//! Names and field numbers are those of `onnx.proto`, IR version 10; fields that nobody here sets are left out. The
//! provider reads no files: its graphs come from ONNX Runtime.

mod export;
mod import;

pub use export::{model_of, tensor_of};
pub use import::graph_of;
use prost::{Enumeration, Message};

/// A model file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    #[prost(string, tag = "7")]
    pub domain: String,
    #[prost(message, repeated, tag = "9")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<GraphProto>>,
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    #[prost(enumeration = "AttributeType", tag = "20")]
    pub r#type: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum AttributeType {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(enumeration = "DataType", tag = "2")]
    pub data_type: i32,
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 if the data is in the file that `external_data` describes.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum DataType {
    Undefined = 0,
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Bfloat16 = 16,
    Uint4 = 21,
    Int4 = 22,
}

#[derive(Clone, PartialEq, Message)]
pub struct StringStringEntryProto {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    #[prost(enumeration = "DataType", tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_graph_survives_export_and_import() {
        let bytes = include_bytes!("../../tests/graphs/minilm-dq8.onnx");
        let graph = graph_of(&ModelProto::decode(bytes.as_slice()).unwrap()).unwrap();
        let copy = ModelProto::decode(model_of(&graph).encode_to_vec().as_slice()).unwrap();
        let copy = graph_of(&copy).unwrap();
        assert_eq!(graph.nodes().count(), 358);
        assert_eq!(copy.to_string(), graph.to_string());
    }

    #[test]
    fn an_attribute_of_value_zero_is_written() {
        let mut model = crate::testing::Model::new();
        model.input::<f32>("x", &[1]);
        model.node("Softmax", &["x"], &["y"], vec![("axis", crate::ir::Attr::Int(0))]).output("y");
        let graph = model_of(&model.graph()).graph.unwrap();
        assert_eq!(graph.node[0].attribute[0].i, Some(0));
    }

    #[test]
    fn narrow_types_are_read_from_int32_data() {
        let tensor = TensorProto {
            dims: vec![3],
            data_type: DataType::Int8.into(),
            int32_data: vec![-1, 2, 127],
            name: "x".into(),
            ..TensorProto::default()
        };
        let node = NodeProto {
            op_type: "Relu".into(),
            input: vec!["x".into()],
            output: vec!["y".into()],
            ..NodeProto::default()
        };
        let graph = GraphProto { node: vec![node], initializer: vec![tensor], ..GraphProto::default() };
        let graph = graph_of(&ModelProto { graph: Some(graph), ..ModelProto::default() }).unwrap();
        let (_, relu) = graph.nodes().next().unwrap();
        let constant = graph.value(relu.input(0).unwrap()).constant.as_ref().unwrap();
        assert_eq!(constant.values::<i8>().unwrap().as_ref(), [-1, 2, 127]);
    }
}

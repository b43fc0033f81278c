//! The operators: one row each in [`TABLE`], one file for each family.

mod arg;
mod arithmetic;
mod attention;
mod attention_cache;
mod attention_mask;
#[cfg(test)]
mod attention_testing;
pub(crate) mod axes;
mod bitwise;
mod cast;
mod causal_conv;
mod channel_norm;
mod clip;
mod compare;
mod concat;
mod constant;
mod conv;
mod conv_integer;
mod conv_transpose;
mod cum_sum;
mod decline;
mod dequantized_linear;
mod einsum;
mod embed_layer_norm;
mod embedding;
mod expand;
mod eye_like;
mod gated;
mod gated_delta_net;
mod gather;
mod gather_block_quantized;
mod gelu;
mod gemm;
mod gemma_rotary;
mod group_query_attention;
mod hardmax;
mod identity;
mod known_mask;
mod linear;
mod linear_attention;
mod lower;
mod lp_norm;
mod matmul;
mod matmul_integer;
mod moe;
mod multi_head_attention;
mod nbits;
mod nbits_gate;
mod nbits_linear;
mod nbits_mlp;
mod nbits_qkv;
mod nibbles;
mod norm;
mod numeric;
mod one_hot;
mod onnx_attention;
mod op;
mod pad;
mod pool;
mod power;
mod predicate;
mod product;
mod qlinear_matmul;
mod qmoe;
mod quantize_linear;
mod quantized_product;
mod range;
mod reduce;
mod reshape;
mod resize;
mod rotary_embedding;
mod rotate_half;
mod scatter;
mod sdpa;
mod select;
mod shape;
mod slice;
mod softmax;
mod space_depth;
mod split;
mod tensor_scatter;
mod top_k;
mod transpose;
mod trilu;
mod unary;
mod variadic;
mod window;

pub use decline::{Code, Decline};
pub use lower::{Lower, Packing};
pub use op::{Op, OpRow, Work};

use crate::ir::Node;

/// Domain of the operators that exist only after fusion.
pub const FUSED: &str = "spacemit";
pub const MICROSOFT: &str = "com.microsoft";

/// All operators, the families in alphabetical order.
const TABLE: &[&[OpRow]] = &[
    arg::ROWS,
    arithmetic::ROWS,
    attention::ROWS,
    bitwise::ROWS,
    cast::ROWS,
    causal_conv::ROWS,
    channel_norm::ROWS,
    clip::ROWS,
    compare::ROWS,
    concat::ROWS,
    constant::ROWS,
    conv::ROWS,
    conv_integer::ROWS,
    conv_transpose::ROWS,
    cum_sum::ROWS,
    dequantized_linear::ROWS,
    einsum::ROWS,
    embed_layer_norm::ROWS,
    embedding::ROWS,
    expand::ROWS,
    eye_like::ROWS,
    gated::ROWS,
    gated_delta_net::ROWS,
    gather::ROWS,
    gather_block_quantized::ROWS,
    gelu::ROWS,
    gemm::ROWS,
    gemma_rotary::ROWS,
    group_query_attention::ROWS,
    hardmax::ROWS,
    identity::ROWS,
    linear::ROWS,
    linear_attention::ROWS,
    lp_norm::ROWS,
    matmul::ROWS,
    matmul_integer::ROWS,
    moe::ROWS,
    multi_head_attention::ROWS,
    nbits_gate::ROWS,
    nbits_linear::ROWS,
    nbits_mlp::ROWS,
    nbits_qkv::ROWS,
    norm::ROWS,
    one_hot::ROWS,
    onnx_attention::ROWS,
    pad::ROWS,
    pool::ROWS,
    power::ROWS,
    predicate::ROWS,
    qlinear_matmul::ROWS,
    qmoe::ROWS,
    quantize_linear::ROWS,
    range::ROWS,
    reduce::ROWS,
    reshape::ROWS,
    rotary_embedding::ROWS,
    rotate_half::ROWS,
    resize::ROWS,
    scatter::ROWS,
    sdpa::ROWS,
    select::ROWS,
    shape::ROWS,
    slice::ROWS,
    softmax::ROWS,
    space_depth::ROWS,
    split::ROWS,
    tensor_scatter::ROWS,
    top_k::ROWS,
    transpose::ROWS,
    trilu::ROWS,
    unary::ROWS,
    variadic::ROWS,
];

/// Every row of the table.
pub fn rows() -> impl Iterator<Item = &'static OpRow> {
    TABLE.iter().copied().flatten()
}

fn find(node: &Node<'_>) -> Option<&'static OpRow> {
    rows().find(|row| node.is(row.domain, row.name) && row.versions.contains(&node.version))
}

/// How much `node` counts; glue when the operator is unknown.
pub fn work(node: &Node<'_>) -> Work {
    find(node).map_or(Work::Glue, |row| row.work)
}

/// Settles everything about a node that does not depend on concrete shapes.
///
/// # Errors
/// [`Decline`] when the provider would not run the node right.
pub fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let node = cx.node();
    let Some(row) = find(node) else {
        let known = rows().any(|row| node.is(row.domain, row.name));
        return Err(if known {
            Decline::new(Code::Version, format!("version {} of the operator is not known", node.version))
        } else {
            Decline::new(Code::Op, "the operator is not implemented")
        });
    };
    let given = |ids: &[Option<_>]| ids.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let (inputs, outputs) = (given(&node.inputs), given(&node.outputs));
    if !row.inputs.contains(&inputs) {
        return Err(Decline::new(Code::Input, format!("{inputs} inputs are given, {:?} are known", row.inputs)));
    }
    if !row.outputs.contains(&outputs) {
        return Err(Decline::new(
            Code::Output,
            format!("{outputs} outputs are asked for, {:?} are known", row.outputs),
        ));
    }
    if let Some((name, _)) = node.attrs.iter().find(|(name, _)| !row.attrs.contains(name)) {
        return Err(Decline::new(Code::Attribute, format!("attribute '{name}' is not known")));
    }
    (row.lower)(cx)
}

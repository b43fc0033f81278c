//! Attention as fusion rules make it: domain `spacemit`, `Sdpa`, since version 1.
//!
//! `Y = softmax(scale * Q x K^T + mask) x V` for each batch and head. Inputs, all of one type, f32 or f16:
//!
//! | # | name | dimensions | remark |
//! |---|------|------------|--------|
//! | 0 | Q    | batch, heads, queries, head       | in the order `q_order` |
//! | 1 | K    | batch, kv heads, keys, head       | in the order `k_order` |
//! | 2 | V    | batch, kv heads, keys, value head | in the order `v_order` |
//! | 3 | mask | broadcast to `[batch, heads, queries, keys]` by ONNX's rules | optional, added to the scores |
//!
//! Batches of size 1 broadcast to those of the other inputs; the number of kv heads is that of heads, or 1.
//! Output: `Y`: batch, heads, queries, value head in the order `out_order`. Attributes:
//!
//! | name | type | default | meaning |
//! |---|---|---|---|
//! | scale | float | 1 | factor of the scores |
//! | q_order, v_order, out_order | string | `bsnh` | `bsnh`: batch, sequence, head, column; `bnsh`: batch, head, sequence, column |
//! | k_order | string | `bsnh` | also `bnhs`: batch, head, column, sequence |
//! | nan_rows_to_zero | int | 0 | 1: a query whose softmax is NaN yields zeros |

//! The linear layers that fusion rules make: domain `spacemit`, `Linear` and `QLinear`, since version 1.
//!
//! Both compute `Y = f(A x B)` with a constant `B`, in this order: product, scale, bias, then residual and activation.
//!
//! **`Linear`** (float): inputs
//!
//! | # | name     | shape        | remark |
//! |---|----------|--------------|--------|
//! | 0 | A        | `[..., K]`   | f32 or f16, rank 1 or more |
//! | 1 | B        | `[K, N]`     | constant, type of A; `[N, K]` with `transB` = 1 |
//! | 2 | bias     | `[N]`        | optional |
//! | 3 | residual | broadcast to Y by ONNX's rules | optional |
//!
//! **`QLinear`** (dynamic or static int8; the product is exact, all that follows is f32): inputs
//!
//! | # | name     | shape           | remark |
//! |---|----------|-----------------|--------|
//! | 0 | A        | `[..., K]`      | u8 or i8 |
//! | 1 | a_scale  | scalar or `[1]` | f32 |
//! | 2 | a_zp     | scalar or `[1]` | type of A; absent: 0 |
//! | 3 | B        | `[K, N]`        | constant u8 or i8; `[N, K]` with `transB` = 1 |
//! | 4 | b_scale  | scalar, `[1]` or `[N]` | constant f32 |
//! | 5 | b_zp     | scalar, `[1]` or `[N]` | constant, type of B; absent: 0 |
//! | 6 | bias     | `[N]`           | f32, optional |
//! | 7 | residual | broadcast to Y by ONNX's rules | f32, optional |
//!
//! Output of both: `Y`, `[..., N]`, f32 (`Linear`: type of A). Attributes of both:
//!
//! | name | type | default | meaning |
//! |---|---|---|---|
//! | activation | string | `""` | `relu`, `gelu`, `gelu_tanh`, `silu`, `quick_gelu`, `sigmoid`, `tanh`, `clip` or none |
//! | activation_alpha | float | 1.702 | of `quick_gelu`: `x sigmoid(alpha x)` |
//! | activation_low, activation_high | float | -inf, +inf | bounds of `clip` |
//! | alpha | float | 1 | scales the product |
//! | transB | int | 0 | B is stored transposed |
//! | residual_first | int | 0 | 1: the residual is added before the activation, 0: after it |

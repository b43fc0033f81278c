//! `docs/cycles.md`.

use std::fmt::Write;

use super::item::{Item, peak};
use super::mca::Row;
use super::{SETTINGS, Setting};

const HEAD: &str = "# Cycles

What one core would take, by the in-order model of the crate `cycles`: no chip was used. Its parameters, with their sources, are in
`cycles/src/x60.rs` and `cycles/src/a100.rs`. Written by `UPDATE_DOCS=1 cargo xtask riscv cycles`.

The numbers are for comparing kernels. Of A100's vector loads there are two contradictory measurements: a few cycles each, or about
20 whatever their size; a ranking counts only where it holds for both. A shared matrix unit is one that the other core of the pair
keeps busy half of the time. The scratch of a driver that fits the scratchpad of its core is there, as in a plan; the scratchpad is
taken to be as fast as the first cache.

\"Of moves\" are the cycles as a multiple of what moving the data takes at least: the lines through the second cache and DRAM at
their rates, or the vector loads and stores.

## Deviations from what was measured on chips

Whole products that ask for nothing ahead take the model two to three times as long as the chip: each line from DRAM is waited for
in full, where the chip's caches seem to fetch some by themselves. What a kernel gains by asking ahead is less on the chip.

| chip | what | measured | model |
|---|---|---|---|
";

const MCA_HEAD: &str = "
## Beside LLVM's model of X60

Cycles of a round of the longest-running loop of K1's vector kernels, with everything in the first cache, by `llvm-mca-22` and by
this model. LLVM's lets results be written in the order of the program only, so that short instructions wait for long ones.

| kernel | llvm-mca | model |
|---|---:|---:|
";

const AIMS_HEAD: &str = "
## Aims

For one core, with packing of the left side and the epilogue. On K1 the results of the int8 products, and the weight of 1536x384,
are larger than the second cache, and weights are read again for each 171 rows of 512 numbers that the scratchpad has room for: what
goes through DRAM leaves 40 % of the matrix unit to 512x512x512, and 34 % to 128x1536x384.
On K3 no order of the loads of a block of 16x32 was found that takes less than 1.6 cycles a dot, or 3.1 with stalling loads.

Functions with an exponential in them are bound by their arithmetic on K3, whose unit of floats takes two cycles for an instruction
on 32 numbers, while moving as many takes ten: 13 instructions make the exponential at least 2.6 times its moves, 16 softmax 3.2,
23 SiLU 4.6 and 32 gelu 6.4. On K1 an instruction on eight numbers takes one cycle and moving as many 25: of these only gelu is
above its moves, at 1.28.

| chip | what | aim | reached | bound by |
|---|---|---|---|---|
";

/// Setting, item, description, what was measured or is aimed at, and how the model's result is told.
type Point = (usize, &'static str, &'static str, &'static str, fn(&Item) -> String);

/// What was measured on chips.
const POINTS: &[Point] = &[
    (0, "loop_registers_12_sums", "products of registers only", "1.00 cycles a dot", per_dot),
    (0, "loop_8x16_naive", "8x16 block, loads before products", "2.77", per_dot),
    (0, "loop_8x16_pipelined", "8x16 block, loads between products", "1.80-1.91", per_dot),
    (0, "gemm_768_b_streamed", "768x768x768 by such blocks, all from the second cache and DRAM", "9.1-12.4", per_dot),
    (0, "gemm_768_b_stays", "the same, B in the scratchpad", "6.0", per_dot),
    (0, "kernel_matmul_f32_f32_f32_rvv_6x32x1", "f32 by RVV at best", "80 % of 8 MAC a cycle", |item| share(item, 8.0)),
    (1, "loop_registers_12_sums", "products of registers only, 12 sums", "1.00 cycles a dot", per_dot),
    (1, "loop_registers_8_sums", "the same with 8 sums", "1.25", per_dot),
    (1, "loop_registers_4_sums", "the same with 4 sums", "2.23", per_dot),
];

/// What the project aims at, by the same fields.
const AIMS: &[Point] = &[
    (0, "kernel_matmul_u8_i8_i32_ime1_12x16x8", "int8 block, operands in L1", "1.3 cycles a dot", per_dot),
    (1, "kernel_matmul_u8_i8_i32_ime2_16x32x16", "int8 block, operands in L1", "1.3 cycles a dot", per_dot),
    (2, "kernel_matmul_u8_i8_i32_ime2_16x32x16", "int8 block, operands in L1", "2.2 cycles a dot", per_dot),
    (0, "matmul_int8_512x512x512", "int8 512x512x512", "45 % of 128 MAC a cycle", |item| share(item, 128.0)),
    (2, "matmul_int8_512x512x512", "int8 512x512x512", "40 % of 1024 MAC a cycle", |item| share(item, 1024.0)),
    (0, "matmul_int8_128x1536x384", "int8 128x1536x384", "40 % of 128 MAC a cycle", |item| share(item, 128.0)),
    (2, "matmul_int8_128x1536x384", "int8 128x1536x384", "35 % of 1024 MAC a cycle", |item| share(item, 1024.0)),
    (0, "matmul_f32_256x256x256", "f32 256x256x256", "65 % of 8 MAC a cycle", |item| share(item, 8.0)),
    (2, "matmul_f32_256x256x256", "f32 256x256x256", "65 % of 16 MAC a cycle", |item| share(item, 16.0)),
    (0, "matmul_f16_256x256x256", "f16 256x256x256", "65 % of 16 MAC a cycle", |item| share(item, 16.0)),
    (2, "matmul_f16_256x256x256", "f16 256x256x256", "35 % of 512 MAC a cycle", |item| share(item, 512.0)),
    (0, "matmul_q4_128x1536x1536", "4 bits, 128x1536x1536", "43 MAC a cycle", per_cycle),
    (2, "matmul_q4_128x1536x1536", "4 bits, 128x1536x1536", "230 MAC a cycle", per_cycle),
    (0, "matmul_q4_1x1536x1536", "4 bits, one row, from DRAM", "95 % of 0.8 bytes a cycle", |item| share(item, 0.8)),
    (2, "matmul_q4_1x1536x1536", "4 bits, one row, from DRAM", "90 % of 10.4 bytes a cycle", |item| share(item, 10.4)),
    (0, "matmul_q8_1x1536x1536", "8 bits, one row, from DRAM", "95 % of 0.8 bytes a cycle", |item| share(item, 0.8)),
    (2, "matmul_q8_1x1536x1536", "8 bits, one row, from DRAM", "90 % of 10.4 bytes a cycle", |item| share(item, 10.4)),
    (0, "quantize_dynamic", "f32 to 8 bits", "2.5 cycles an element", per_element),
    (2, "quantize_dynamic", "f32 to 8 bits", "1 cycle an element", per_element),
    (0, "quantize_groups", "f32 to 8 bits in groups of 32", "2.5 cycles an element", per_element),
    (2, "quantize_groups", "f32 to 8 bits in groups of 32", "1 cycle an element", per_element),
    (0, "unary_relu", "ReLU", "1.3 of moves", Item::times_transfers),
    (2, "unary_relu", "ReLU", "1.3 of moves", Item::times_transfers),
    (0, "arithmetic_add", "addition", "1.3 of moves", Item::times_transfers),
    (2, "arithmetic_add", "addition", "1.3 of moves", Item::times_transfers),
    (0, "unary_exp", "exponential", "1.3 of moves", Item::times_transfers),
    (2, "unary_exp", "exponential", "1.3 of moves", Item::times_transfers),
    (0, "softmax", "softmax", "1.3 of moves", Item::times_transfers),
    (2, "softmax", "softmax", "1.3 of moves", Item::times_transfers),
    (0, "norm_layer", "layer norm", "1.3 of moves", Item::times_transfers),
    (2, "norm_layer", "layer norm", "1.3 of moves", Item::times_transfers),
    (0, "norm_rms", "RMS norm", "1.3 of moves", Item::times_transfers),
    (2, "norm_rms", "RMS norm", "1.3 of moves", Item::times_transfers),
    (0, "rotary", "rotary embedding", "1.3 of moves", Item::times_transfers),
    (2, "rotary", "rotary embedding", "1.3 of moves", Item::times_transfers),
    (0, "attention_prefill_2x512x64", "attention, f32, prefill", "40 % of 8 MAC a cycle", |item| share(item, 8.0)),
    (2, "attention_prefill_2x512x64", "attention, f32, prefill", "35 % of 16 MAC a cycle", |item| share(item, 16.0)),
    (0, "attention_decode_9x2000x64", "attention, f32, decode", "1.3 of moves", Item::times_transfers),
    (2, "attention_decode_9x2000x64", "attention, f32, decode", "1.3 of moves", Item::times_transfers),
];

/// The part about LLVM's model.
pub fn mca(loops: &[Row]) -> String {
    let mut text = MCA_HEAD.to_owned();
    for Row { kernel, llvm, model } in loops {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{kernel}` | {llvm:.1} | {model:.1} |");
    }
    text
}

fn per_element(item: &Item) -> String {
    format!("{:.2}", item.cycles() / item.work)
}

fn per_cycle(item: &Item) -> String {
    format!("{:.1}", item.work / item.cycles())
}

/// Work as a share of `peak` a cycle.
fn share(item: &Item, peak: f64) -> String {
    format!("{:.0} %", 100.0 * item.work / item.cycles() / peak)
}

fn per_dot(item: &Item) -> String {
    item.cycles_per_dot().map_or(String::new(), |cycles| format!("{cycles:.2}"))
}

/// The document for the items of all settings and the loops of which LLVM has a model, too.
pub fn text(measured: &[Vec<Item>], loops: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    points(&mut text, POINTS, measured, |_| String::new());
    text.push_str(&mca(loops));
    text.push_str(AIMS_HEAD);
    points(&mut text, AIMS, measured, |item| format!(" {} |", item.bound()));
    for (setting, items) in SETTINGS.iter().zip(measured) {
        let _ = writeln!(text, "\n## {}\n\n{ROWS}", setting.name);
        items.iter().for_each(|item| text.push_str(&row(item, setting)));
    }
    text
}

/// A row for each point, which `end` completes.
fn points(text: &mut String, points: &[Point], measured: &[Vec<Item>], end: fn(&Item) -> String) {
    for (setting, name, what, wanted, told) in points {
        if let Some(item) = measured[*setting].iter().find(|item| item.name == *name) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} | {what} | {wanted} | {} |{}", SETTINGS[*setting].name, told(item), end(item));
        }
    }
}

const ROWS: &str =
    "| item | cycles | per cycle | cycles a dot | of 1 dot a cycle | of moves | busiest unit | bound by |
|---|---:|---:|---:|---:|---:|---|---|";

fn row(item: &Item, setting: &Setting) -> String {
    let (unit, share) = item.busiest();
    let of_peak = item.cycles_per_dot().map_or(String::new(), |_| format!("{:.0} %", 100.0 * peak(item, setting)));
    format!(
        "| `{}` | {} | {:.2} {} | {} | {of_peak} | {} | {unit} {:.0} % | {} |\n",
        item.name,
        item.cycles(),
        item.work / item.cycles(),
        item.unit,
        per_dot(item),
        item.times_transfers(),
        100.0 * share,
        item.bound()
    )
}

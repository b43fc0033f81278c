//! `docs/cycles.md`.

use std::fmt::Write;

use super::item::{Item, peak};
use super::{SETTINGS, Setting};

const HEAD: &str = "# Cycles

What one core would take, by the in-order model of the crate `cycles`: no chip was used. Its parameters, with their sources, are in
`cycles/src/x60.rs` and `cycles/src/a100.rs`. Written by `UPDATE_DOCS=1 cargo xtask riscv cycles`.

The numbers are for comparing kernels. Of A100's vector loads there are two contradictory measurements: a few cycles each, or about
20 whatever their size; a ranking counts only where it holds for both. A shared matrix unit is one that the other core of the pair
keeps busy half of the time.

## Deviations from what was measured on chips

| chip | what | measured | model |
|---|---|---|---|
";

/// What was measured on chips: setting, item, description, result, and how the model's is told.
type Point = (usize, &'static str, &'static str, &'static str, fn(&Item) -> String);

const POINTS: &[Point] = &[
    (0, "loop_registers_12_sums", "products of registers only", "1.00 cycles a dot", per_dot),
    (0, "loop_8x16_naive", "8x16 block, loads before products", "2.77", per_dot),
    (0, "loop_8x16_pipelined", "8x16 block, loads between products", "1.80-1.91", per_dot),
    (0, "kernel_matmul_f32_f32_f32_rvv_6x32x1", "f32 by RVV at best", "80 % of 8 MAC a cycle", |item| {
        format!("{:.0} %", 100.0 * item.work / item.cycles() / 8.0)
    }),
    (1, "loop_registers_12_sums", "products of registers only, 12 sums", "1.00 cycles a dot", per_dot),
    (1, "loop_registers_8_sums", "the same with 8 sums", "1.25", per_dot),
    (1, "loop_registers_4_sums", "the same with 4 sums", "2.23", per_dot),
];

fn per_dot(item: &Item) -> String {
    item.cycles_per_dot().map_or(String::new(), |cycles| format!("{cycles:.2}"))
}

/// The document for the items of all settings.
pub fn text(measured: &[Vec<Item>]) -> String {
    let mut text = HEAD.to_owned();
    for (setting, name, what, published, told) in POINTS {
        let item = measured[*setting].iter().find(|item| item.name == *name);
        let model = item.map_or(String::new(), told);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {what} | {published} | {model} |", SETTINGS[*setting].name);
    }
    for (setting, items) in SETTINGS.iter().zip(measured) {
        let _ = writeln!(text, "\n## {}\n\n{ROWS}", setting.name);
        items.iter().for_each(|item| text.push_str(&row(item, setting)));
    }
    text
}

const ROWS: &str = "| item | cycles | per cycle | cycles a dot | of 1 dot a cycle | busiest unit | bound by |
|---|---:|---:|---:|---:|---|---|";

fn row(item: &Item, setting: &Setting) -> String {
    let (unit, share) = item.busiest();
    let of_peak = item.cycles_per_dot().map_or(String::new(), |_| format!("{:.0} %", 100.0 * peak(item, setting)));
    format!(
        "| `{}` | {} | {:.2} {} | {} | {of_peak} | {unit} {:.0} % | {} |\n",
        item.name,
        item.cycles(),
        item.work / item.cycles(),
        item.unit,
        per_dot(item),
        100.0 * share,
        item.bound()
    )
}

use crate::snapshot::{Snapshot, kind, matrix};

/// The snapshot for people.
pub fn table(snapshot: &Snapshot) -> String {
    let mut text = format!("spacemit-ep-smi {}\n", env!("CARGO_PKG_VERSION"));
    text += &match snapshot.chip {
        Some(chip) => format!("chip: {chip}\n"),
        None => "no SpacemiT hardware\n".to_owned(),
    };
    text += &rows(
        "CPU KIND VLEN MATRIX WORKERS",
        snapshot.cores.iter().map(|core| {
            let vlen = if core.isa.vlen == 0 { "-".into() } else { core.isa.vlen.to_string() };
            let workers = snapshot.on_core(core.cpu).join(", ");
            [core.cpu.to_string(), kind(core.kind).into(), vlen, matrix(core).unwrap_or("-").into(), workers].to_vec()
        }),
    );
    let Some((backend, blocks)) = &snapshot.scratchpads else { return text + "scratchpads: none\n" };
    text += &format!("scratchpads: {backend}\n");
    text += &rows(
        "ID STATE BYTES PHYS CPU_MASK OWNER",
        blocks.iter().enumerate().map(|(id, block)| {
            let state = match block.busy {
                Some(true) => "busy",
                Some(false) => "free",
                None => "?",
            };
            let owner = block.owner.map_or_else(|| "-".into(), |thread| thread.to_string());
            let (phys, cpus) = (format!("{:#x}", block.phys), format!("{:#x}", block.cpus));
            [id.to_string(), state.into(), block.bytes.to_string(), phys, cpus, owner].to_vec()
        }),
    );
    text
}

/// Columns as wide as their longest entry.
fn rows(head: &str, body: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = head.split(' ').map(str::to_owned).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..all[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

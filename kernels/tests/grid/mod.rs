//! What the grid tests of micro-kernels share: which cores they run on, buffers between guard pages, and canaries.

mod canary;
mod guarded;

pub use canary::call;
#[allow(unused_imports, reason = "not every test asks for an edge")]
pub use guarded::{Edge, Guarded};

use kernels::isa::Isa;
use kernels::table::{Family, Variant};

/// What this machine can execute, the emulated matrix instructions included.
pub fn isa() -> Isa {
    let isa = kernels::isa::isa_of_this_thread();
    #[cfg(target_arch = "riscv64")]
    if isa.vlen > 0 {
        ime::emulator::install().expect("the emulator of the matrix instructions is installed");
        return Isa { ime1: isa.vlen == 256, ime2: isa.vlen == 1024, ..isa };
    }
    isa
}

/// Calls `check` with every variant that runs here, and prints a line for each, which `cargo xtask riscv test` reads.
pub fn each<F: Family>(rows: &'static [Variant<F>], check: impl Fn(&Variant<F>, unsafe fn(&F::Args))) {
    let isa = isa();
    let mut ran = 0;
    for row in rows {
        let run = row.run.filter(|_| row.needs.met_by(isa));
        if let Some(run) = run {
            check(row, run);
            ran += 1;
        }
        let result = if run.is_some() { "passed" } else { "absent" };
        println!("grid {} {} vlen={} {result} needs {}", F::NAME, row.name, isa.vlen, row.needs);
    }
    let is_written_for = |row: &Variant<F>| row.needs.vlen.contains(&isa.vlen);
    assert!(ran > 0 || isa.vlen == 0 || !rows.iter().any(is_written_for), "no variant of {} runs here", F::NAME);
}

/// A fixed sequence of numbers below 2^24, another for each seed.
pub fn sequence(len: usize, seed: u32) -> impl Iterator<Item = u32> {
    let mut state = seed;
    (0..len).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    })
}

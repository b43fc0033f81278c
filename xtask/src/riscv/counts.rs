//! `cargo xtask riscv counts`: the instructions that micro-kernels execute, in all and in their innermost loops.
//!
//! QEMU writes down the address of every instruction that the example `marked` of the kernels executes.

pub mod code;
pub mod loops;
pub mod trace;

use super::cross::Emulation;
use super::qemu;
use crate::Result;
use code::Code;
use loops::Loop;
use trace::Call;

/// Least share of matrix instructions in a loop, by the beginning of a kernel's name.
const AIMS: [(&str, f64); 3] =
    [("matmul_u8_i8_i32 ime1_", 0.53), ("matmul_u8_i8_i32 ime2_", 0.6), ("matmul_nbits ime1_", 0.4)];
/// Beginning of the names of kernels whose loops may neither set the vector length nor store vectors.
const PRODUCTS: &str = "matmul_";

/// Prints the counts of K1 and K3; fails where a loop spills, sets the vector length needlessly, or misses its aim.
pub fn run(emulation: &Emulation) -> Result<()> {
    let program = emulation.toolchain.example("kernels", "marked", "dev")?;
    let emulator = emulation.toolchain.emulator()?;
    let code = Code::of(&program)?;
    let (mut faults, mut shares) = (Vec::new(), [0f64; AIMS.len()]);
    for (chip, cpu) in [("K1", qemu::K1), ("K3", qemu::K3)] {
        println!(
            "\n{chip}: instructions by product or number; instructions of the longest-running loop, matrix among them"
        );
        println!("{:36} {:>10} {:>9} {:>6} {:>7} {:>6}", "kernel", "shape", "counted", "loop", "matrix", "share");
        for call in trace::calls(emulation, cpu, &emulator, &program, &code)? {
            let loops = loops::innermost(&call.executed, &code);
            print_row(&call, loops.first());
            faults.extend(loops.iter().filter_map(|one| fault(&call, one)));
            let share = loops.first().map_or(0.0, Loop::matrix_share);
            for ((name, _), best) in AIMS.iter().zip(&mut shares) {
                *best = if call.kernel.starts_with(name) { best.max(share) } else { *best };
            }
        }
    }
    let missed = AIMS.iter().zip(shares).filter(|((_, aim), share)| share < aim);
    faults.extend(missed.map(|((name, aim), share)| format!("{name}*: {share:.2} of the loop, not {aim}, is matrix")));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn print_row(call: &Call, hottest: Option<&Loop>) {
    let counted = call.executed.len() as f64 / call.work as f64;
    print!("{:36} {:>10} {counted:>9.4}", call.kernel, call.shape);
    match hottest {
        Some(one) if one.matrix() > 0 => {
            println!(" {:>6} {:>7} {:>6.2}", one.words.len(), one.matrix(), one.matrix_share());
        }
        Some(one) => println!(" {:>6}", one.words.len()),
        None => println!(),
    }
}

/// What a loop must not do. Stores that are relative to the stack pointer spill; in a product, any store of vectors does.
fn fault(call: &Call, one: &Loop) -> Option<String> {
    let is_product = call.kernel.starts_with(PRODUCTS);
    let spills = |word: &u32| code::is_vector_store(*word) && (is_product || code::is_stack_relative(*word));
    let what = if one.words.iter().any(spills) {
        "spills vectors"
    } else if is_product && one.words.iter().any(|word| code::is_vset(*word)) {
        "sets the vector length"
    } else {
        return None;
    };
    Some(format!("{} {}: a loop at {:#x} {what}", call.kernel, call.shape, one.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_spill_or_set_the_vector_length_are_faults() {
        const VSETVLI: u32 = 0x0c00_78d7;
        const STORE_TO_STACK: u32 = 0x0281_0427;
        const STORE: u32 = 0x0206_e427;
        let found = |kernel: &str, word| {
            let call = Call { kernel: kernel.to_owned(), shape: String::new(), work: 1, executed: Vec::new() };
            fault(&call, &Loop { start: 0, rounds: 1, words: vec![word] }).is_some()
        };
        assert_eq!(
            [VSETVLI, STORE_TO_STACK, STORE].map(|word| found("matmul_u8_i8_i32 rvv", word)),
            [true, true, true]
        );
        assert_eq!([VSETVLI, STORE_TO_STACK, STORE].map(|word| found("unary_f32 rvv_exp", word)), [false, true, false]);
    }
}

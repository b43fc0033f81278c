//! A program that knows nothing of the emulator; `cargo xtask riscv test` runs it with the library preloaded.
#![cfg(all(target_arch = "riscv64", target_os = "linux"))]

use std::arch::asm;

#[test]
fn a_matrix_instruction_works() {
    let (a, b) = ([3u8; 128], [5u8; 128]);
    let mut c = [0i32; 64];
    // SAFETY: at VLEN 1024 or less, the loads and stores stay in the arrays; the vector registers are clobbered.
    unsafe {
        asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli t0, zero, e8, m1, ta, ma",
            "vle8.v v2, ({a})",
            "vle8.v v3, ({b})",
            "vmv.v.i v16, 0",
            "vmv.v.i v17, 0",
            ".insn r 0x2b, 3, 0x71, x16, x2, x3", // smt.vmadot v16, v2, v3, i8
            "vsetvli t0, zero, e32, m2, ta, ma",
            "vse32.v v16, ({c})",
            ".option pop",
            a = in(reg) a.as_ptr(),
            b = in(reg) b.as_ptr(),
            c = in(reg) c.as_mut_ptr(),
            out("t0") _, out("v2") _, out("v3") _, out("v16") _, out("v17") _,
        );
    }
    let written = c.iter().take_while(|&&sum| sum != 0).count();
    let depth = match written {
        16 => 8,
        64 => 16,
        other => panic!("{other} sums"),
    };
    assert!(c[..written].iter().all(|&sum| sum == 3 * 5 * depth), "{c:?}");
}

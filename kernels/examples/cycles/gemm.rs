//! A whole product of 768x768x768 by the loop that is published for K1, to compare the model with: blocks of 8x16, the operands
//! of the next step loaded between the products. Both sides are packed, and nothing is asked for ahead.

use crate::item::Items;

#[cfg(not(target_arch = "riscv64"))]
pub fn all(_items: &mut Items) {}

#[cfg(target_arch = "riscv64")]
pub fn all(items: &mut Items) {
    use crate::item::{From, Unit};
    use crate::mark;
    use kernels::isa::isa_of_this_thread;
    use kernels::mem::AlignedBuf;

    if !isa_of_this_thread().ime1 {
        return;
    }
    // The last step loads what would be another one.
    let (a, b) = (AlignedBuf::zeroed(SIZE * SIZE + 4096), AlignedBuf::zeroed(SIZE * SIZE + 4096));
    let mut c = AlignedBuf::zeroed(4 * SIZE * SIZE);
    let (rows, columns) = (SIZE / 8, SIZE / 16);
    // B panel by panel for each strip of A, or A strip by strip for each panel of B, which then is in the scratchpad.
    for (name, of_rows) in [("gemm_768_b_streamed", true), ("gemm_768_b_stays", false)] {
        items.measure(name, SIZE * SIZE * SIZE, Unit::Mac, From::L2, |_| {
            mark::scratchpad(if of_rows { &[] } else { &b });
            mark::begin();
            for at in 0..rows * columns {
                let (row, column) = if of_rows { (at / columns, at % columns) } else { (at % rows, at / rows) };
                let (a, b) = (&a[row * 8 * SIZE..], &b[column * 16 * SIZE..]);
                let c = &mut c[(row * columns + column) * 512..];
                // SAFETY: both operands have a step more than they need, and `c` the 8x16 numbers of a block.
                unsafe { block(a.as_ptr(), b.as_ptr(), c.as_mut_ptr()) };
            }
            mark::end();
        });
    }
}

/// Rows, columns and depth.
#[cfg(target_arch = "riscv64")]
const SIZE: usize = 768;

#[cfg(target_arch = "riscv64")]
macro_rules! load {
    ($register:literal, $from:literal) => {
        concat!("vle8.v v", $register, ", (", $from, ")\n addi ", $from, ", ", $from, ", 32")
    };
}

/// `smt.vmadot` into the pair `$d`.
#[cfg(target_arch = "riscv64")]
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 3, 0x71, x", $d, ", x", $a, ", x", $b)
    };
}

/// Eight products with one set of operands, while the other one is loaded.
#[cfg(target_arch = "riscv64")]
macro_rules! step {
    ([$a0:literal $a1:literal $b0:literal $b1:literal $b2:literal $b3:literal],
     [$na0:literal $na1:literal $nb0:literal $nb1:literal $nb2:literal $nb3:literal]) => {
        concat!(
            load!($na0, "a1"),
            "\n",
            dot!(0, $a0, $b0),
            "\n",
            load!($na1, "a1"),
            "\n",
            dot!(2, $a0, $b1),
            "\n",
            load!($nb0, "a2"),
            "\n",
            dot!(4, $a0, $b2),
            "\n",
            load!($nb1, "a2"),
            "\n",
            dot!(6, $a0, $b3),
            "\n",
            load!($nb2, "a2"),
            "\n",
            dot!(8, $a1, $b0),
            "\n",
            load!($nb3, "a2"),
            "\n",
            dot!(10, $a1, $b1),
            "\n",
            dot!(12, $a1, $b2),
            "\n",
            dot!(14, $a1, $b3),
            "\n",
        )
    };
}

/// # Safety
/// `a` has 8, `b` 16 bytes for each step of the depth and for eight more; `c` takes 8x16 numbers.
#[cfg(target_arch = "riscv64")]
unsafe fn block(a: *const u8, b: *const u8, c: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli t0, zero, e8, m8, ta, ma",
            "vmv.v.i v0, 0",
            "vmv.v.i v8, 0",
            "vsetvli t0, zero, e8, m1, ta, ma",
            load!(16, "a1"),
            load!(17, "a1"),
            load!(18, "a2"),
            load!(19, "a2"),
            load!(20, "a2"),
            load!(21, "a2"),
            "2:",
            step!([16 17 18 19 20 21], [24 25 26 27 28 29]),
            step!([24 25 26 27 28 29], [16 17 18 19 20 21]),
            "addi a0, a0, -1",
            "bnez a0, 2b",
            "vs8r.v v0, (a3)",
            "addi a3, a3, 256",
            "vs8r.v v8, (a3)",
            ".option pop",
            inout("a0") SIZE / 16 => _,
            inout("a1") a => _,
            inout("a2") b => _,
            inout("a3") c => _,
            clobber_abi("C"),
            options(nostack),
        )
    }
}

//! Loops whose speed on chips is published, to compare the model with.

use crate::item::Items;

#[cfg(not(target_arch = "riscv64"))]
pub fn all(_items: &mut Items) {}

#[cfg(target_arch = "riscv64")]
pub fn all(items: &mut Items) {
    use crate::item::{From, Unit};
    use crate::mark;
    use kernels::isa::isa_of_this_thread;

    let isa = isa_of_this_thread();
    let tile = if isa.vlen == 1024 { 1024 } else { 128 };
    if !(isa.ime1 || isa.ime2) {
        return;
    }
    let data = vec![0u8; 16 << 10];
    let loops: [Loop; 5] = [
        ("loop_registers_4_sums", 4, registers_4),
        ("loop_registers_8_sums", 8, registers_8),
        ("loop_registers_12_sums", 12, registers_12),
        ("loop_8x16_naive", 8, naive),
        ("loop_8x16_pipelined", 16, pipelined),
    ];
    for (name, dots, run) in loops {
        items.measure(name, ROUNDS * dots * tile, Unit::Mac, From::L1, |_| {
            mark::begin();
            // SAFETY: the loops read fewer bytes than there are, and change only registers that calls may change.
            unsafe { run(data.as_ptr()) };
            mark::end();
        });
    }
}

/// Name, dots of a round, and the loop.
#[cfg(target_arch = "riscv64")]
type Loop = (&'static str, usize, unsafe fn(*const u8));

/// Rounds of a loop; the data of a round, at most 12 registers of 128 bytes, are the same in each.
#[cfg(target_arch = "riscv64")]
const ROUNDS: usize = 500;

/// `smt.vmadot` into the pair `$d`.
#[cfg(target_arch = "riscv64")]
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 3, 0x71, x", $d, ", x", $a, ", x", $b)
    };
}

/// A loop of these instructions. a1, a2 and so on are addresses of registers of operands.
#[cfg(target_arch = "riscv64")]
macro_rules! rounds {
    ($name:ident, $($instruction:expr),+ $(,)?) => {
        unsafe fn $name(data: *const u8) {
            // SAFETY: see `all`.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    "vsetvli a7, zero, e8, m1, ta, ma",
                    "2:",
                    "addi a0, a0, -1",
                    $($instruction,)+
                    "bnez a0, 2b",
                    ".option pop",
                    inout("a0") ROUNDS => _,
                    in("a1") data,
                    in("a2") data.wrapping_add(128),
                    in("a3") data.wrapping_add(256),
                    in("a4") data.wrapping_add(384),
                    in("a5") data.wrapping_add(512),
                    in("a6") data.wrapping_add(640),
                    out("a7") _,
                    clobber_abi("C"),
                    options(nostack, readonly),
                )
            }
        }
    };
}

#[cfg(target_arch = "riscv64")]
rounds!(registers_4, dot!(0, 24, 28), dot!(2, 24, 29), dot!(4, 24, 30), dot!(6, 24, 31));

#[cfg(target_arch = "riscv64")]
rounds!(
    registers_8,
    dot!(0, 24, 28),
    dot!(2, 24, 29),
    dot!(4, 24, 30),
    dot!(6, 24, 31),
    dot!(8, 25, 28),
    dot!(10, 25, 29),
    dot!(12, 25, 30),
    dot!(14, 25, 31),
);

#[cfg(target_arch = "riscv64")]
rounds!(
    registers_12,
    dot!(0, 24, 28),
    dot!(2, 24, 29),
    dot!(4, 24, 30),
    dot!(6, 24, 31),
    dot!(8, 25, 28),
    dot!(10, 25, 29),
    dot!(12, 25, 30),
    dot!(14, 25, 31),
    dot!(16, 26, 28),
    dot!(18, 26, 29),
    dot!(20, 26, 30),
    dot!(22, 26, 31),
);

// Two tiles down and four across: all operands are loaded, then used.
#[cfg(target_arch = "riscv64")]
rounds!(
    naive,
    "vle8.v v28, (a3)",
    "vle8.v v29, (a4)",
    "vle8.v v30, (a5)",
    "vle8.v v31, (a6)",
    "vle8.v v24, (a1)",
    "vle8.v v25, (a2)",
    dot!(0, 24, 28),
    dot!(2, 24, 29),
    dot!(4, 24, 30),
    dot!(6, 24, 31),
    dot!(8, 25, 28),
    dot!(10, 25, 29),
    dot!(12, 25, 30),
    dot!(14, 25, 31),
);

// The same with the operands of the next step loaded between the dots, in two sets of registers.
#[cfg(target_arch = "riscv64")]
rounds!(
    pipelined,
    "vle8.v v24, (a1)",
    dot!(0, 16, 18),
    "vle8.v v25, (a2)",
    dot!(2, 16, 19),
    "vle8.v v26, (a3)",
    dot!(4, 16, 20),
    "vle8.v v27, (a4)",
    dot!(6, 16, 21),
    "vle8.v v28, (a5)",
    dot!(8, 17, 18),
    "vle8.v v29, (a6)",
    dot!(10, 17, 19),
    dot!(12, 17, 20),
    dot!(14, 17, 21),
    "vle8.v v16, (a1)",
    dot!(0, 24, 26),
    "vle8.v v17, (a2)",
    dot!(2, 24, 27),
    "vle8.v v18, (a3)",
    dot!(4, 24, 28),
    "vle8.v v19, (a4)",
    dot!(6, 24, 29),
    "vle8.v v20, (a5)",
    dot!(8, 25, 26),
    "vle8.v v21, (a6)",
    dot!(10, 25, 27),
    dot!(12, 25, 28),
    dot!(14, 25, 29),
);

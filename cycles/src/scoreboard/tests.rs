use super::*;
use crate::core::Options;
use crate::decode::decode;
use crate::{a100, x60};

const E8M1: VType = VType(0);
const E32M4: VType = VType(0b01_0010);

/// Cycles of `rounds` rounds of `words` on a core, all data in the first cache.
fn cycles(core: &Core, vtype: VType, words: &[u32], rounds: u64) -> u64 {
    let (mut board, mut memory) = (Scoreboard::new(core), Memory::new(core.memory));
    memory.access(0, 0, false);
    let (lines, start) = (vec![Access { address: 0, is_store: false }], 1000);
    board.advance(start, Wait::Issue);
    for word in (0..rounds).flat_map(|_| words) {
        let insn = decode(*word);
        let touches = insn.class.is_vector_memory() || matches!(insn.class, Class::Load | Class::Store);
        let accesses = Accesses { lines: if touches { lines.clone() } else { Vec::new() }, count: 1 };
        board.issue(&insn, vtype, &accesses, &mut memory);
    }
    board.now - start
}

/// `smt.vmadot` into the pair `vd`.
fn dot(vd: u32, vs1: u32, vs2: u32) -> u32 {
    0xe200_302b | vs2 << 20 | vs1 << 15 | vd << 7
}

#[test]
fn two_scalar_instructions_begin_in_a_cycle() {
    let independent = [0x0010_0093, 0x0010_0113, 0x0010_0193, 0x0010_0213]; // li x1 to x4, 1
    assert_eq!(cycles(&x60::core(), E8M1, &independent, 50), 99);
    let chain = [0x0010_8093]; // addi x1, x1, 1
    assert_eq!(cycles(&x60::core(), E8M1, &chain, 100), 99);
    let loads = [0x0005_b083, 0x0010_8093]; // ld x1, 0(a1); addi x1, x1, 1
    assert_eq!(cycles(&x60::core(), E8M1, &loads, 1), 4);
}

#[test]
fn independent_dots_fill_the_matrix_unit() {
    let sums: Vec<u32> = (0..12).map(|pair| dot(2 * pair, 24, 28)).collect();
    assert_eq!(cycles(&x60::core(), E8M1, &sums, 100), 1199);
    assert_eq!(cycles(&a100::core(Options::default()), E8M1, &sums, 100), 1199);
    // One sum: a dot every latency.
    assert_eq!(cycles(&x60::core(), E8M1, &sums[..1], 100), 3 * 99);
    assert_eq!(cycles(&a100::core(Options::default()), E8M1, &sums[..1], 100), 9 * 99);
    let shared = a100::core(Options { shared_matrix: true, ..Options::default() });
    assert_eq!(cycles(&shared, E8M1, &sums, 100), 2 * 1199);
}

#[test]
fn a_dot_keeps_its_operands() {
    // vl1re8.v v28, (a0) after a dot that reads v28 begins when that is done, then every round takes load and dot.
    let words = [0x0285_0e07, dot(0, 24, 28)];
    assert_eq!(cycles(&x60::core(), E8M1, &words, 101) - cycles(&x60::core(), E8M1, &words, 1), 100 * (3 + 3));
}

#[test]
fn vector_operands_are_groups() {
    let add = |vd: u32, vs2: u32, vs1: u32| 0x0200_1057 | vs2 << 20 | vs1 << 15 | vd << 7; // vfadd.vv
    // v8-v11, then a read of v11 among v11-v14: waits for the latency of m4.
    assert_eq!(cycles(&x60::core(), E32M4, &[add(8, 0, 4), add(16, 8, 4)], 1), 5);
    // Independent ones: a group of four takes four cycles.
    assert_eq!(cycles(&x60::core(), E32M4, &[add(8, 0, 4), add(16, 0, 4)], 100), 4 * 199);
}

#[test]
fn loads_by_the_two_readings() {
    let loads = [0xe285_0407, 0xe285_0807]; // vl8re8.v v8 and v16
    let with = |stalling_loads| a100::core(Options { stalling_loads, shared_matrix: false });
    assert_eq!(cycles(&with(false), E8M1, &loads, 10), 16 * 19);
    assert_eq!(cycles(&with(true), E8M1, &loads, 10), 23 * 19);
}

#[test]
fn a_wrong_guess_costs_a_refill() {
    let core = x60::core();
    let mut board = Scoreboard::new(&core);
    board.mispredict();
    assert_eq!((board.now, board.waits[Wait::Branch.index()]), (9, 9));
}

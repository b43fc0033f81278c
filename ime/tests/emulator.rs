//! The emulator against the model: the same instructions, executed by the processor.
#![cfg(all(target_arch = "riscv64", target_os = "linux"))]

use std::arch::global_asm;

use ime::{Control, Core, Element, Instruction, Operation, PackKind, Signs, VRegs, VType, emulator, execute};

global_asm!(
    r#"
    .option push
    .option arch, +v
# run_code(code, registers, vtype): v0 to v31 from and to `registers` around a call of `code`, with vl = 3 and
# vxrm = 2; the sum of vl, vcsr and vstart afterwards.
run_code:
    addi sp, sp, -32
    sd   ra, 0(sp)
    sd   s0, 8(sp)
    mv   s0, a1
    csrr t0, vlenb
    slli t0, t0, 3
    vl8re8.v v0, (a1)
    add  a1, a1, t0
    vl8re8.v v8, (a1)
    add  a1, a1, t0
    vl8re8.v v16, (a1)
    add  a1, a1, t0
    vl8re8.v v24, (a1)
    li   t1, 3
    vsetvl zero, t1, a2
    csrwi vxrm, 2
    jalr a0
    csrr t0, vlenb
    slli t0, t0, 3
    csrr a0, vl
    csrr t1, vcsr
    add  a0, a0, t1
    csrr t1, vstart
    add  a0, a0, t1
    vs8r.v v0, (s0)
    add  s0, s0, t0
    vs8r.v v8, (s0)
    add  s0, s0, t0
    vs8r.v v16, (s0)
    add  s0, s0, t0
    vs8r.v v24, (s0)
    ld   ra, 0(sp)
    ld   s0, 8(sp)
    addi sp, sp, 32
    ret
    .option pop
"#
);

unsafe extern "C" {
    fn run_code(code: *const u32, registers: *mut u8, vtype: u64) -> u64;
}

/// An executable page with one instruction and a return.
struct Code(*mut u32);

impl Code {
    fn new(word: u32) -> Code {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous page of our own; two words fit; fence.i makes them visible as instructions.
        unsafe {
            let page = libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0).cast::<u32>();
            assert_ne!(page.cast(), libc::MAP_FAILED);
            page.write(word);
            page.add(1).write(0x0000_8067); // ret
            std::arch::asm!("fence.i");
            Code(page)
        }
    }

    fn run(&self, registers: &mut [u8], vtype: VType) {
        // SAFETY: the code changes vector registers only, which the routine moves from and to 32 registers.
        let state = unsafe { run_code(self.0, registers.as_mut_ptr(), vtype.0) };
        assert_eq!(state, 3 + (2 << 1), "vl, vcsr and vstart stay");
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the page is ours and nobody runs it any more.
        unsafe { libc::munmap(self.0.cast(), 4096) };
    }
}

/// The core with the registers of this machine.
fn core() -> Core {
    let vlenb: usize;
    // SAFETY: reads a CSR of a core that has the vector extension.
    unsafe { std::arch::asm!(".option push", ".option arch, +v", "csrr {0}, vlenb", ".option pop", out(reg) vlenb) };
    Core::with_vlenb(vlenb).expect("VLEN of a known core")
}

fn instructions() -> impl Iterator<Item = Instruction> {
    let dots = Signs::ALL.into_iter().flat_map(|signs| {
        let slides = (1..4).map(move |slide| Operation::SlidingDot { slide, signs });
        let typed = [Element::I4, Element::I8].into_iter().flat_map(move |element| {
            [
                Operation::Dot { element, signs },
                Operation::SparseDot { element, signs, mask: 1, segment: 1 },
                Operation::ScaledDot { element, signs, scale: 0, group: 3 },
            ]
        });
        slides.chain(typed)
    });
    let floats = (0..4).map(|slide| Operation::FloatDot { slide });
    let packs = PackKind::ALL.into_iter().map(|kind| Operation::Pack { kind, size: 1 });
    dots.chain(floats).chain(packs).map(|operation| Instruction { operation, vd: 30, vs1: 8, vs2: 13 })
}

fn count(mnemonic: &str) -> u64 {
    emulator::counts().find(|one| one.0 == mnemonic).unwrap().1
}

/// Every instruction of the core, on several threads at once; each execution counts.
#[test]
fn the_processor_computes_what_the_model_does() {
    emulator::install().unwrap();
    let core = core();
    let control = Control { vtype: VType::m1(16), bf16: false };
    let legal: Vec<_> = instructions().filter(|one| one.check(core, control).is_ok()).collect();
    assert_eq!(legal.len(), if core == Core::A100 { 46 } else { 16 });
    let before: Vec<u64> = legal.iter().map(|one| count(one.operation.mnemonic())).collect();
    std::thread::scope(|scope| {
        for thread in 0..3u32 {
            let legal = &legal;
            scope.spawn(move || {
                for &instruction in legal {
                    let mut registers: Vec<u8> = (0..32 * core.vlenb() as u32)
                        .map(|i| (i.wrapping_mul(2_654_435_761 + thread) >> 23) as u8)
                        .collect();
                    let mut expected = registers.clone();
                    execute(core, control, instruction, &mut VRegs::new(core, &mut expected)).unwrap();
                    Code::new(instruction.encode()).run(&mut registers, control.vtype);
                    assert!(registers == expected, "{instruction}");
                }
            });
        }
    });
    for (instruction, before) in legal.iter().zip(before) {
        assert!(count(instruction.operation.mnemonic()) >= before + 3, "{instruction}");
    }
}

/// What the model refuses kills the process by SIGILL.
#[test]
fn illegal_instructions_kill() {
    emulator::install().unwrap();
    let core = core();
    let vmadot = Operation::Dot { element: Element::I8, signs: Signs::SS };
    let odd = Instruction { operation: vmadot, vd: 17, vs1: 2, vs2: 4 }.encode();
    let legal = Instruction { operation: vmadot, vd: 16, vs1: 2, vs2: 4 }.encode();
    let ime2 = Instruction { operation: Operation::FloatDot { slide: 0 }, vd: 16, vs1: 2, vs2: 4 }.encode();
    let m2 = VType(VType::m1(8).0 | 1);
    for (word, vtype, legal) in [
        (legal, VType::m1(8), true),
        (odd, VType::m1(8), false),
        (legal, m2, false),
        (ime2, VType::m1(8), core == Core::A100),
        (0, VType::m1(8), false),
    ] {
        let code = Code::new(word);
        let mut registers = vec![0; 32 * core.vlenb()];
        // SAFETY: the child runs one instruction and leaves.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                code.run(&mut registers, vtype);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGILL;
        assert_eq!((status == 0, killed), (legal, !legal), "{word:08x}");
    }
}

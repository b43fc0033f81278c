use std::io::ErrorKind;

use super::*;
use crate::sys::fake::FakeChip;

fn kinds(machine: &Machine) -> Vec<CoreKind> {
    machine.cores.iter().map(|core| core.kind).collect()
}

#[test]
fn only_the_first_four_cores_of_k1_have_matrix_instructions() {
    let machine = Machine::detect(&FakeChip::k1());
    assert_eq!(kinds(&machine), [[CoreKind::A60; 4], [CoreKind::X60; 4]].concat());
    assert_eq!(machine.target(), Some(Target::k1()));
    let common = |cpus: &str| machine.common_isa(&cpus.parse().unwrap());
    assert_eq!(common("0-3"), CoreKind::A60.isa());
    assert_eq!(common("3-4"), CoreKind::X60.isa());
    assert_eq!((common(""), common("0,99")), (Isa::SCALAR, Isa::SCALAR));
}

#[test]
fn k3_has_two_kinds_of_cores() {
    let machine = Machine::detect(&FakeChip::k3());
    assert_eq!(kinds(&machine), [[CoreKind::X100; 8], [CoreKind::A100; 8]].concat());
    assert_eq!(machine.target(), Some(Target::k3()));
    assert_eq!(machine.common_isa(&"0-15".parse().unwrap()), Isa::SCALAR, "vector lengths differ");
}

#[test]
fn cpuinfo_serves_kernels_without_hwprobe() {
    let mut chip = FakeChip::k3();
    chip.faults.hwprobe = Some(ErrorKind::Unsupported);
    assert_eq!(Machine::detect(&chip), Machine::detect(&FakeChip::k3()));
}

#[test]
fn the_isa_string_names_what_an_older_kernel_has_no_bit_for() {
    let mut chip = FakeChip::k1();
    chip.faults.unknown_extensions = HwProbe::ZVFH;
    assert_eq!(Machine::detect(&chip), Machine::detect(&FakeChip::k1()));
}

#[test]
fn the_device_tree_tells_of_cores_that_are_offline() {
    let mut chip = FakeChip::k3();
    chip.faults.offline = "8-15".parse().unwrap();
    assert_eq!(Machine::detect(&chip).target(), Some(Target::k3()));
}

#[test]
fn cores_of_other_vendors_count_by_their_vectors() {
    let machine = |vlen, f16| Machine::detect(&FakeChip::of_vendor(0x5b7, vlen, f16));
    for (vlen, f16) in [(128, true), (512, false)] {
        let target = machine(vlen, f16).target().unwrap();
        assert_eq!((target.core, target.workers), (CoreKind::Rvv { vlen, f16 }, 2));
        assert_eq!(target.core.isa(), Isa { vlen, f16, ..Isa::SCALAR });
    }
    assert_eq!(Machine::detect(&FakeChip::without_vectors()).target(), Some(Target::scalar().with_workers(2)));
}

#[test]
fn chips_without_zvfh_do_not_promise_it() {
    let mut chip = FakeChip::k1();
    chip.cores.iter_mut().for_each(|core| core.extensions = HwProbe::V);
    let machine = Machine::detect(&chip);
    assert_eq!(machine.cores[0].isa, Isa { f16: false, ..CoreKind::A60.isa() });
}

#[test]
fn a_pc_has_host_cores_only() {
    let machine = Machine::detect(&FakeChip::pc());
    assert_eq!((kinds(&machine), machine.target()), (vec![CoreKind::Host; 4], None));
}

#[test]
fn this_machine_has_cores() {
    let machine = Machine::here();
    assert!(!machine.cores.is_empty());
    assert_eq!(machine.target().is_none(), cfg!(not(target_arch = "riscv64")));
}

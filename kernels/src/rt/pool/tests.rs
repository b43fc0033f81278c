use std::io::ErrorKind;

use super::*;
use crate::isa::Target;
use crate::rt::placement::Placement;
use crate::sys::fake::FakeChip;

fn choose(chip: FakeChip, target: &Target, bound: bool, strict: bool) -> Result<Seats, String> {
    let machine = Machine::detect(&chip);
    let candidates = Placement::default().candidates(&machine, target, &chip.mask).unwrap().unwrap();
    Arc::new(CorePool::new(Arc::new(chip), machine, bound, |_| None)).choose(&candidates, target.workers, strict)
}

fn cpus(seats: &Result<Seats, String>) -> String {
    seats.as_ref().unwrap().cpus().to_string()
}

#[test]
fn workers_reach_the_ai_cores_and_measure_themselves() {
    let seats = choose(FakeChip::k3(), &Target::k3(), true, true).unwrap();
    assert_eq!(seats.cpus().to_string(), "8-15");
    assert!(seats.iter().all(|(_, resident)| resident.isa() == CoreKind::A100.isa()));
}

#[test]
fn a_thread_that_may_not_enter_the_ai_cores_says_why() {
    let mut chip = FakeChip::k3();
    chip.faults.set_ai_thread = Some(ErrorKind::InvalidInput);
    let error = choose(chip, &Target::k3(), true, false).err().unwrap();
    assert!(error.contains("core 8: /proc/set_ai_thread refuses the thread"), "{error}");

    let mut chip = FakeChip::k3();
    chip.faults.set_ai_thread = Some(ErrorKind::NotFound);
    let error = choose(chip, &Target::k3(), true, false).err().unwrap();
    assert!(error.contains("core 8: the system binds no thread to it"), "{error}");
}

#[test]
fn cores_that_refuse_are_left_out_or_fail_a_strict_team() {
    let mut chip = FakeChip::k3();
    chip.faults.refused = "8-9".parse().unwrap();
    chip.faults.offline = "10".parse().unwrap();
    chip.faults.ignored = "11".parse().unwrap();
    assert_eq!(cpus(&choose(chip.clone(), &Target::k3(), true, false)), "12-15");
    let error = choose(chip, &Target::k3(), true, true).err().unwrap();
    assert!(error.contains("core 8"), "{error}");
}

#[test]
fn a_binding_that_does_not_hold_is_noticed() {
    let mut chip = FakeChip::k1();
    chip.faults.ignored = "0-3".parse().unwrap();
    let error = choose(chip, &Target::k1(), true, false).err().unwrap();
    assert!(error.contains("core 0: its thread was bound to CPUs 0-7 instead"), "{error}");
}

#[test]
fn unbound_workers_trust_only_what_all_their_cpus_have() {
    let seats = choose(FakeChip::k1(), &Target::k1(), false, false).unwrap();
    assert!(seats.iter().all(|(_, resident)| resident.isa() == CoreKind::X60.isa()));
}

#[test]
fn a_pool_ends_with_its_last_team() {
    let seats = choose(FakeChip::k1(), &Target::k1(), true, true).unwrap();
    let pool = Arc::downgrade(&seats.pool);
    assert!(seats.iter().all(|(core, _)| core.cpu < 4));
    drop(seats);
    assert!(pool.upgrade().is_none());
}

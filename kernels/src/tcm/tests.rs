use std::sync::Arc;

use super::fake::{BLOCK, Chip, FakeDevice, FakeSpine, K3_MASKS};
use super::*;

fn k3(chip: &Arc<Chip>, opening: i32) -> FakeDevice {
    FakeDevice { masks: K3_MASKS.to_vec(), ..FakeDevice::new(chip, opening) }
}

fn tcm(device: FakeDevice) -> Tcm {
    Tcm::new(on_device(Box::new(device)).unwrap())
}

fn shared(chip: &Arc<Chip>, kind: CoreKind) -> Option<Tcm> {
    let spine = Box::new(FakeSpine { chip: Arc::clone(chip), is_fake: false });
    library::Shared::new(spine, kind).map(|shared| Tcm::new(Box::new(shared)))
}

fn is_free(chip: &Chip) -> bool {
    chip.owners.lock().unwrap().iter().all(|&owner| owner == 0)
}

#[test]
fn cores_of_a_pair_get_its_two_blocks() {
    let chip = Chip::new(8);
    let tcm = tcm(k3(&chip, 1));
    let blocks: Vec<_> = (8..16).map(|cpu| tcm.backend.block_of(cpu)).collect();
    assert_eq!(blocks, (0..8).map(Some).collect::<Vec<_>>());
    assert_eq!((tcm.backend.block_of(0), tcm.backend.block_of(64), tcm.backend.block_of(1 << 40)), (None, None, None));
    let unmasked = self::tcm(FakeDevice::new(&Chip::new(4), 1));
    assert_eq!((unmasked.backend.block_of(3), unmasked.backend.block_of(4)), (Some(3), None));
}

#[test]
fn a_loan_is_whole_writable_and_given_back() {
    let chip = Chip::new(8);
    let tcm = tcm(k3(&chip, 1));
    let mut a = tcm.lend(8, BLOCK).unwrap();
    let mut b = tcm.lend(9, 1).unwrap();
    a.fill(1);
    b.fill(2);
    assert!(a.len() == BLOCK && a.iter().all(|&byte| byte == 1) && b.iter().all(|&byte| byte == 2));
    assert!(tcm.lend(8, 1).is_none(), "one worker at a time");
    drop((a, b));
    assert!(is_free(&chip));
    assert!(tcm.lend(8, BLOCK + 1).is_none(), "too small");
    assert!(is_free(&chip));
    assert_eq!(tcm.counts(), (2, 1));
    drop(tcm);
    assert_eq!(chip.mapped.load(Ordering::SeqCst), 0);
}

#[test]
fn a_panic_gives_the_block_back() {
    let chip = Chip::new(8);
    let tcm = tcm(k3(&chip, 1));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _loan = tcm.lend(8, 1).unwrap();
        panic!("deliberate");
    }));
    assert!(result.is_err() && is_free(&chip));
    assert!(tcm.lend(8, 1).is_some());
}

#[test]
fn a_block_of_another_process_is_busy_and_free_when_that_ends() {
    let chip = Chip::new(8);
    let (ours, theirs) = (tcm(k3(&chip, 1)), tcm(k3(&chip, 2)));
    let held = theirs.lend(8, 1).unwrap();
    assert!(ours.lend(8, 1).is_none() && ours.lend(9, 1).is_some());
    drop(held);
    assert!(ours.lend(8, 1).is_some());
    assert_eq!(ours.counts(), (2, 1));
}

#[test]
fn faults_of_the_driver_leave_the_heap() {
    let chip = Chip::new(8);
    let fails = |device: FakeDevice| on_device(Box::new(device)).is_none();
    assert!(fails(FakeDevice { layout_error: Some(libc::EFAULT), ..k3(&chip, 1) }));
    assert!(fails(FakeDevice { map_error: Some(libc::EAGAIN), ..k3(&chip, 1) }));
    assert!(fails(FakeDevice { masks: K3_MASKS[..7].to_vec(), ..k3(&chip, 1) }), "a block that cannot be asked for");
    assert!(fails(FakeDevice { block_size: 1, ..k3(&chip, 1) }), "blocks of unequal sizes");
    assert!(fails(FakeDevice::new(&Chip::new(0), 1)), "no blocks");
    let locked = tcm(FakeDevice { lock_error: Some(libc::ENOLCK), ..k3(&chip, 1) });
    assert!(locked.lend(8, 1).is_none());
    drop(locked);
    assert_eq!(chip.mapped.load(Ordering::SeqCst), 0);
}

#[test]
fn the_older_driver_allocates_for_each_run() {
    let chip = Chip::new(64);
    let device = FakeDevice { layout_error: Some(libc::ENOTTY), ..FakeDevice::new(&chip, 1) };
    let tcm = tcm(device);
    assert_eq!(tcm.backend.name(), "allocating device");
    let loan = tcm.lend(3, 128 << 10).unwrap();
    assert_eq!(chip.mapped.load(Ordering::SeqCst), 1);
    drop(loan);
    assert_eq!(chip.mapped.load(Ordering::SeqCst), 0);
    assert!(tcm.lend(4, 1).is_none(), "K1's other cores have none");
    let full = FakeDevice { layout_error: Some(libc::EINVAL), ..FakeDevice::new(&Chip::new(1), 1) };
    assert!(self::tcm(full).lend(0, 1).is_none(), "nothing is free");
}

#[test]
fn the_library_shares_blocks_by_core() {
    let chip = Chip::new(8);
    let tcm = shared(&chip, CoreKind::A100).unwrap();
    let loan = tcm.lend(15, BLOCK).unwrap();
    assert_eq!(chip.owners.lock().unwrap()[7], 1);
    drop(loan);
    assert!(is_free(&chip) && tcm.lend(7, 1).is_none());
    assert!(shared(&Chip::new(4), CoreKind::A60).unwrap().lend(0, 1).is_some());
    let fake = Box::new(FakeSpine { chip, is_fake: true });
    assert!(library::Shared::new(fake, CoreKind::A100).is_none());
}

#[test]
fn blocks_of_dead_threads_are_taken_back_and_those_of_live_ones_are_not() {
    let chip = Chip::new(8);
    let tcm = shared(&chip, CoreKind::A100).unwrap();
    *chip.owners.lock().unwrap() = vec![1000, 7, 0, 0, 0, 0, 0, 0];
    assert!(tcm.lend(8, 1).is_some(), "its owner is dead");
    assert!(tcm.lend(9, 1).is_none(), "its owner lives");
    assert_eq!(chip.owners.lock().unwrap()[1], 7);
}

#[test]
fn the_status_of_blocks_is_told_without_taking_them() {
    let chip = Chip::new(8);
    let (ours, theirs) = (tcm(k3(&chip, 1)), tcm(k3(&chip, 2)));
    let _loan = theirs.lend(9, 1).unwrap();
    let status = ours.status();
    let expected = BlockStatus { bytes: BLOCK, phys: 0, cpus: 0x300, busy: Some(true), owner: None };
    assert_eq!((status.len(), &status[1], status[0].busy), (8, &expected, Some(false)));
    assert!(ours.reclaim().is_empty(), "the kernel sees to it");

    let chip = Chip::new(8);
    let library = shared(&chip, CoreKind::A100).unwrap();
    *chip.owners.lock().unwrap() = vec![1000, 7, 0, 0, 0, 0, 0, 0];
    let owners: Vec<_> = library.status().iter().map(|block| (block.busy, block.owner)).collect();
    assert_eq!(owners[..3], [(Some(true), Some(1000)), (Some(true), Some(7)), (Some(false), None)]);
    assert_eq!(library.reclaim(), [0]);
    assert_eq!(*chip.owners.lock().unwrap(), [0, 7, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn machines_without_scratchpads_have_none() {
    assert!(Tcm::open(CoreKind::Host).is_none() && Tcm::open(CoreKind::X60).is_none());
    if !std::path::Path::new("/dev/tcm").exists() {
        assert!(Tcm::open(CoreKind::A100).is_none());
    }
}

//! Faults of the chip, its kernel and its libraries: a run ends in the right result or in an error that names the thing,
//! and leaves no thread, mapping or scratchpad behind.

use std::cell::RefCell;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::placement::Placement;
use super::pool::CorePool;
use super::{Team, Worker};
use crate::driver::{Driver, RunError};
use crate::isa::{CoreKind, Machine, Target};
use crate::mem::Workspace;
use crate::sys::fake::{FakeChip, Faults};
use crate::sys::{Linux, System};
use crate::tape::{Buffer, Io, Place, Step, Tape};
use crate::tcm::Tcm;
use crate::tcm::fake::{self, BLOCK, Chip, FakeDevice, K3_MASKS};

const LEN: usize = 64;
/// An owner of scratchpads that is not this process, and lives.
const OTHER: i32 = 7;
/// One that is gone.
const DEAD: i32 = 1000;

type MakeTcm = Box<dyn Fn() -> Option<Tcm>>;

thread_local!(static SCRATCHPADS: RefCell<Option<MakeTcm>> = const { RefCell::new(None) });

/// What a pool that this thread makes opens.
fn open(_: CoreKind) -> Option<Tcm> {
    SCRATCHPADS.with_borrow(|make| make.as_ref()?())
}

/// What was seen during a run.
#[derive(Default)]
struct Seen {
    threads: Mutex<Vec<i32>>,
    /// Owners of the scratchpads.
    owners: Mutex<Vec<i32>>,
}

/// y = 2 x, by way of the scratch memory.
struct Double {
    chip: Arc<Chip>,
    seen: Arc<Seen>,
    /// What another process does to the scratchpads meanwhile.
    meanwhile: fn(&Chip),
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("double")
    }
}

impl Driver for Double {
    fn scratch(&self) -> usize {
        BLOCK
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        self.seen.threads.lock().unwrap().push(Linux.thread_id());
        let share = worker.share(LEN, 1);
        let numbers = &mut bytemuck::cast_slice_mut::<u8, i32>(scratch)[..share.len()];
        numbers.copy_from_slice(&io.input::<i32>(0)[share.clone()]);
        worker.barrier()?;
        if worker.rank() == 0 {
            *self.seen.owners.lock().unwrap() = self.chip.owners.lock().unwrap().clone();
            (self.meanwhile)(&self.chip);
        }
        worker.barrier()?;
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<i32>(0).range(share) };
        y.iter_mut().zip(numbers).for_each(|(y, x)| *y = *x * 2);
        Ok(())
    }
}

/// A K3 under test.
struct Case {
    chip: FakeChip,
    scratchpads: Arc<Chip>,
    seen: Arc<Seen>,
    meanwhile: fn(&Chip),
}

impl Case {
    fn new(faults: Faults) -> Self {
        let chip = FakeChip { faults, ..FakeChip::k3() };
        Self { chip, scratchpads: Chip::new(8), seen: Arc::default(), meanwhile: |_| {} }
    }

    /// K3's driver of the scratchpads, with faults.
    fn device(self, fault: impl Fn(&mut FakeDevice) + 'static) -> Self {
        let chip = Arc::clone(&self.scratchpads);
        SCRATCHPADS.set(Some(Box::new(move || {
            let mut device = FakeDevice { masks: K3_MASKS.to_vec(), ..FakeDevice::new(&chip, 1) };
            fault(&mut device);
            fake::of_device(device)
        })));
        self
    }

    /// The library that shares them, with these owners.
    fn library(self, owner: i32, is_fake: bool) -> Self {
        *self.scratchpads.owners.lock().unwrap() = vec![owner; 8];
        let chip = Arc::clone(&self.scratchpads);
        SCRATCHPADS.set(Some(Box::new(move || fake::of_library(&chip, is_fake))));
        self
    }

    /// Runs twice on one team. Returns the number of ranks and, of each run, that of the scratchpads in use.
    fn run(&self, between: impl FnOnce(&Chip)) -> Result<(usize, [usize; 2]), String> {
        let machine = Machine::detect(&self.chip);
        let pool = Arc::new(CorePool::new(Arc::new(self.chip.clone()), machine, true, open));
        let team = Team::on(&pool, &Target::k3(), &Placement::default()).map_err(|error| error.to_string())?;
        let first = self.run_once(&team);
        between(&self.scratchpads);
        Ok((team.size(), [first, self.run_once(&team)]))
    }

    fn run_once(&self, team: &Team) -> usize {
        let driver =
            Double { chip: Arc::clone(&self.scratchpads), seen: Arc::clone(&self.seen), meanwhile: self.meanwhile };
        let places = [Place::Input(0), Place::Output(0)];
        let buffers = places.map(|place| Buffer { place, bytes: LEN * 4 }).to_vec();
        let step = Step {
            driver: Box::new(driver),
            inputs: [0].into_iter().collect(),
            outputs: [1].into_iter().collect(),
            label: 0,
        };
        let x: Vec<i32> = (0..LEN as i32).collect();
        let mut y = vec![0i32; LEN];
        let tape = Tape::new(buffers, vec![step]).unwrap();
        let (x, out) = (bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut y));
        tape.run(team, &mut Workspace::new(), &[x], &mut [out]).unwrap();
        assert!(y.iter().enumerate().all(|(index, &y)| y == 2 * index as i32), "{y:?}");
        self.seen.owners.lock().unwrap().iter().filter(|&&owner| owner == 1).count()
    }

    /// Asserts that nothing of the runs is left; `owners` had the scratchpads before.
    fn assert_clean(&self, owner: i32) {
        SCRATCHPADS.set(None);
        assert_eq!(self.scratchpads.mapped.load(std::sync::atomic::Ordering::SeqCst), 0, "a mapping is left");
        assert_eq!(*self.scratchpads.owners.lock().unwrap(), [owner; 8], "a scratchpad is left");
        let lives = |id: &i32| Path::new(&format!("/proc/self/task/{id}")).exists();
        let start = Instant::now();
        // A thread that was joined leaves the listing a moment later.
        while self.seen.threads.lock().unwrap().iter().any(lives) {
            assert!(start.elapsed() < Duration::from_secs(10), "a worker thread is left");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Asserts that every run is right, with so many ranks and scratchpads.
fn assert_runs(case: &Case, owner: i32, ranks: usize, scratchpads: usize) {
    assert_eq!(case.run(|_| {}), Ok((ranks, [scratchpads; 2])));
    case.assert_clean(owner);
}

fn sound() -> Case {
    Case::new(Faults::default())
}

#[test]
fn without_faults_every_rank_has_a_scratchpad() {
    assert_runs(&sound().device(|_| {}), 0, 8, 8);
    assert_runs(&sound().library(0, false), 0, 8, 8);
}

#[test]
fn faults_of_the_device_leave_the_heap() {
    assert_runs(&sound(), 0, 8, 0);
    assert_runs(&sound().device(|device| device.layout_error = Some(libc::EFAULT)), 0, 8, 0);
    assert_runs(&sound().device(|device| device.map_error = Some(libc::EAGAIN)), 0, 8, 0);
    assert_runs(&sound().device(|device| device.lock_error = Some(libc::EINVAL)), 0, 8, 0);
    assert_runs(&sound().device(|device| device.block_size = 1), 0, 8, 0);
}

#[test]
fn fewer_blocks_than_cores_serve_some_ranks() {
    let mut case = sound();
    case.scratchpads = Chip::new(4);
    let case = case.device(|device| device.masks = vec![0x300, 0xc00, 0x3000, 0xc000]);
    assert_eq!(case.run(|_| {}), Ok((8, [4, 4])));
    assert_eq!(*case.scratchpads.owners.lock().unwrap(), [0; 4]);
}

#[test]
fn blocks_of_others_stay_theirs() {
    let case = sound().device(|_| {});
    *case.scratchpads.owners.lock().unwrap() = vec![OTHER; 8];
    assert_runs(&case, OTHER, 8, 0);
    assert_runs(&sound().library(OTHER, false), OTHER, 8, 0);
    assert_runs(&sound().library(0, true), 0, 8, 0);
}

#[test]
fn blocks_that_become_free_are_used() {
    let case = sound().device(|_| {});
    *case.scratchpads.owners.lock().unwrap() = vec![OTHER; 8];
    let free = |chip: &Chip| chip.owners.lock().unwrap().fill(0);
    assert_eq!(case.run(free), Ok((8, [0, 8])));
    case.assert_clean(0);
}

#[test]
fn blocks_of_the_dead_are_taken_back() {
    assert_runs(&sound().library(DEAD, false), 0, 8, 8);
}

#[test]
fn blocks_that_are_taken_in_the_middle_of_a_run_are_not_given_back() {
    let mut case = sound().library(0, false);
    case.meanwhile = |chip| chip.owners.lock().unwrap().fill(OTHER);
    assert_eq!(case.run(|_| {}), Ok((8, [8, 0])));
    case.assert_clean(OTHER);
}

#[test]
fn threads_that_may_not_serve_are_named() {
    let refused = |faults: Faults, named: &str| {
        let case = Case::new(faults).device(|_| {});
        let error = case.run(|_| {}).unwrap_err();
        assert!(error.contains("core 8") && error.contains(named), "{error}");
        case.assert_clean(0);
    };
    let used_vectors = Faults { set_ai_thread: Some(ErrorKind::InvalidInput), ..Faults::default() };
    refused(used_vectors, "/proc/set_ai_thread refuses the thread");
    let everywhere = || "8-15".parse().unwrap();
    refused(Faults { refused: everywhere(), ..Faults::default() }, "binds no thread to it");
    refused(Faults { offline: everywhere(), ..Faults::default() }, "binds no thread to it");
    refused(Faults { ignored: everywhere(), ..Faults::default() }, "was bound to CPUs");
}

#[test]
fn cores_that_are_missing_leave_fewer_ranks() {
    let some = |cores: &str| cores.parse().unwrap();
    let faults =
        Faults { refused: some("8"), offline: some("9"), ignored: some("10"), no_trial: true, ..Faults::default() };
    assert_runs(&Case::new(faults).device(|_| {}), 0, 5, 5);
}

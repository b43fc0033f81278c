mod coscheduling;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::isa::{CoreKind, Machine};
use crate::rt::TcmUse;
use crate::sys::fake::FakeChip;
use crate::sys::{Linux, System};
use crate::testing::rounds;

/// A team on a fake chip.
fn on(chip: FakeChip, target: Target, placement: &Placement) -> Result<(Team, Arc<CorePool>), TeamError> {
    let machine = Machine::detect(&chip);
    let pool = Arc::new(CorePool::new(Arc::new(chip), machine, placement.cores != Cores::Inherit, |_| None));
    Team::on(&pool, &target, placement).map(|team| (team, pool))
}

fn leased(workers: usize) -> Team {
    on(FakeChip::k3(), Target::k3().with_workers(workers), &Placement::default()).unwrap().0
}

/// Both crews of a size.
fn crews(size: usize) -> [Team; 2] {
    [Team::new(size).unwrap(), leased(size)]
}

#[test]
fn every_rank_runs_once_and_barriers_order_writes() {
    for size in [1, 2, 4] {
        for team in crews(size) {
            assert_eq!(team.size(), size);
            for _ in rounds(200) {
                let cells: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                team.run(&|worker| {
                    cells[worker.rank()].fetch_add(1, Ordering::Relaxed);
                    worker.barrier().unwrap();
                    let seen: usize = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
                    assert_eq!(seen, worker.size());
                })
                .unwrap();
            }
        }
    }
}

#[test]
fn a_panic_on_any_rank_frees_the_others_and_the_team_lives_on() {
    for team in crews(3) {
        for guilty in 0..3 {
            let result = team.run(&|worker| {
                assert_ne!(worker.rank(), guilty, "deliberate");
                while worker.barrier().is_ok() {}
            });
            assert_eq!(result, Err(TeamError::Panicked));
        }
        team.run(&|worker| worker.barrier().unwrap()).unwrap();
    }
}

#[test]
fn callers_take_turns() {
    for team in crews(2) {
        let inside = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in rounds(100) {
                        team.run(&|worker| {
                            inside.fetch_add(1, Ordering::SeqCst);
                            worker.barrier().unwrap();
                            assert_eq!(inside.load(Ordering::SeqCst), 2);
                            worker.barrier().unwrap();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            worker.barrier().unwrap();
                        })
                        .unwrap();
                    }
                });
            }
        });
    }
}

#[test]
fn a_mask_without_any_core_of_the_target_is_named() {
    let mut chip = FakeChip::k1();
    chip.mask = "4-7".parse().unwrap();
    let error = on(chip, Target::k1(), &Placement::default()).err().unwrap().to_string();
    assert!(error.contains("4-7") && error.contains("0-3"), "{error}");
}

#[test]
fn idle_workers_wake_up_again() {
    let spin = Spin { idle: Duration::ZERO, barrier: Duration::ZERO };
    let (team, _) = on(FakeChip::k1(), Target::k1(), &Placement { spin, ..Placement::default() }).unwrap();
    for pause in [0, 1, 5] {
        thread::sleep(Duration::from_millis(pause));
        team.run(&|worker| worker.barrier().unwrap()).unwrap();
    }
}

#[test]
fn on_a_chip_the_caller_only_waits() {
    let team = leased(2);
    let caller = thread::current().id();
    team.run(&|_| assert_ne!(thread::current().id(), caller)).unwrap();
}

#[test]
fn ranks_know_what_their_cores_execute() {
    let (team, _) = on(FakeChip::k1(), Target::k1(), &Placement::default()).unwrap();
    assert!(
        team.cores().iter().all(|rank| rank.core.kind == CoreKind::A60 && rank.isa.ime1 && rank.scratchpad.is_none())
    );
    team.run(&|worker| assert_eq!(worker.isa(), CoreKind::A60.isa())).unwrap();
    leased(8).run(&|worker| assert_eq!(worker.isa(), CoreKind::A100.isa())).unwrap();
}

/// `SPACEMIT_EP_MATRIX` is set where the emulator of the matrix instructions is preloaded; elsewhere QEMU traps on them.
#[cfg(target_arch = "riscv64")]
#[test]
fn workers_of_this_chip_measure_what_it_executes() {
    let matrix = std::env::var_os("SPACEMIT_EP_MATRIX").is_some();
    let target = Machine::here().target().unwrap();
    let team = Team::of(&target, &Placement::default()).unwrap();
    let promised = target.core.isa();
    let expected = Isa { ime1: promised.ime1 && matrix, ime2: promised.ime2 && matrix, ..promised };
    team.run(&|worker| assert_eq!(worker.isa(), expected)).unwrap();
    let bound = matches!(target.core, CoreKind::A60 | CoreKind::X100 | CoreKind::A100);
    assert_eq!(team.cores().len(), if bound { team.size() } else { 0 });
    println!("{target:?} {expected:?}");
}

#[test]
fn teams_on_disjoint_cores_run_at_the_same_time() {
    let (first, pool) = on(FakeChip::k3(), Target::k3().with_workers(4), &Placement::default()).unwrap();
    let second = Team::on(&pool, &Target::k3().with_workers(4), &Placement::default()).unwrap();
    let cpus = |team: &Team| team.cores().iter().map(|rank| rank.core.cpu).collect::<CpuSet>();
    assert_eq!((cpus(&first).to_string().as_str(), cpus(&second).to_string().as_str()), ("8,10,12,14", "9,11,13,15"));
    let meeting = std::sync::Barrier::new(2);
    let meet = |team: &Team| {
        let job = |worker: &crate::rt::Worker<'_>| {
            if worker.rank() == 0 {
                meeting.wait();
            }
        };
        team.run(&job).unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| meet(&first));
        meet(&second);
    });
}

#[test]
fn a_busy_core_fails_the_run_after_the_lease_or_leaves_fewer_ranks() {
    let (holder, pool) = on(FakeChip::k1(), Target::k1().with_workers(2), &Placement::default()).unwrap();
    let team = |fewer| {
        let lease = Lease { wait: Duration::from_millis(30), fewer };
        let cores = Cores::These(vec![1, 2]);
        Team::on(&pool, &Target::k1().with_workers(2), &Placement { cores, lease, ..Placement::default() }).unwrap()
    };
    let (strict, modest) = (team(false), team(true));
    let started = std::sync::Barrier::new(2);
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    thread::scope(|scope| {
        scope.spawn(|| {
            let job = |worker: &crate::rt::Worker<'_>| {
                if worker.rank() == 0 {
                    started.wait();
                    let _ = wait.lock().unwrap().recv();
                }
            };
            holder.run(&job).unwrap();
        });
        started.wait();
        let start = Instant::now();
        let error = strict.run(&|_| unreachable!()).unwrap_err();
        assert!(error.to_string().contains("cores 1-2") && start.elapsed() >= Duration::from_millis(30), "{error}");
        modest.run(&|worker| assert_eq!((worker.rank(), worker.size()), (0, 1))).unwrap();
        drop(done);
    });
    strict.run(&|worker| assert_eq!(worker.size(), 2)).unwrap();
}

#[test]
fn teams_come_and_go_without_leaving_a_thread() {
    let threads = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in rounds(50) {
                    for team in crews(2) {
                        team.run(&|worker| {
                            worker.barrier().unwrap();
                            if worker.rank() == 1 {
                                threads.lock().unwrap().push(Linux.thread_id());
                            }
                        })
                        .unwrap();
                    }
                }
            });
        }
    });
    let start = Instant::now();
    let lives = |id: &i32| std::path::Path::new(&format!("/proc/self/task/{id}")).exists();
    let threads = threads.into_inner().unwrap();
    // A thread that was joined leaves the listing a moment later.
    while threads.iter().any(lives) {
        assert!(start.elapsed() < Duration::from_secs(10), "a worker thread is still there");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(threads.len(), 400);
}

#[test]
fn ranks_on_a_chip_have_the_scratchpad_of_their_core() {
    let chip = FakeChip::k3();
    let machine = Machine::detect(&chip);
    let pool = Arc::new(CorePool::new(Arc::new(chip), machine, true, crate::tcm::fake::k3_tcm));
    let bytes = crate::tcm::fake::BLOCK;
    let seen = |tcm| {
        let team = Team::on(&pool, &Target::k3(), &Placement { tcm, ..Placement::default() }).unwrap();
        let near: Vec<_> = team.cores().iter().map(|rank| (rank.core.cpu, rank.scratchpad)).collect();
        assert!(near.iter().all(|&(cpu, block)| block == Some(cpu - 8)), "{near:?}");
        let addresses = Mutex::new(Vec::new());
        team.run(&|worker| {
            if let Some(mut block) = worker.scratchpad(bytes) {
                block.fill(worker.rank() as u8);
                worker.barrier().unwrap();
                assert!(block.iter().all(|&byte| byte == worker.rank() as u8));
                assert!(worker.scratchpad(bytes).is_none(), "the rank has it already");
                addresses.lock().unwrap().push(block.as_ptr() as usize);
            }
        })
        .unwrap();
        let mut addresses = addresses.into_inner().unwrap();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.len()
    };
    assert_eq!(seen(TcmUse::Auto), 8);
    assert_eq!((seen(TcmUse::Off), seen(TcmUse::AtMost(bytes - 1)), seen(TcmUse::AtMost(bytes))), (0, 0, 8));
}

//! Every order of events of the barrier, the mailbox, a whole run and the grants, as far as two or three threads can
//! have them: `cargo xtask sanitize model`.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::barrier::Barrier;
use super::equipment::Equipment;
use super::grants::{Grants, Lease};
use super::mailbox::{Mailbox, reside};
use super::run::{Terms, run_together};
use super::spin::Spin;
use super::team::TeamError;
use crate::isa::Isa;
use std::time::Duration;

fn terms() -> Terms {
    Terms { limit: None, spin: Spin::default(), tcm_bytes: 0 }
}

/// Explores with at most `preemptions` forced switches, which keeps models with spinning threads finite.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_barrier_orders_what_comes_before_it() {
    explore(3, || {
        let shared = Arc::new((Barrier::new(2, Duration::ZERO), AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for round in 1..=2 {
                other.1.store(round, Ordering::Relaxed);
                other.0.wait().unwrap();
                assert_eq!(other.2.load(Ordering::Relaxed), round);
                other.0.wait().unwrap();
            }
        });
        for round in 1..=2 {
            shared.2.store(round, Ordering::Relaxed);
            shared.0.wait().unwrap();
            assert_eq!(shared.1.load(Ordering::Relaxed), round);
            shared.0.wait().unwrap();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_poisoned_barrier_lets_everybody_leave() {
    explore(3, || {
        let barrier = Arc::new(Barrier::new(2, Duration::ZERO));
        let other = Arc::clone(&barrier);
        let thread = thread::spawn(move || other.poison());
        assert!(barrier.wait().is_err());
        thread.join().unwrap();
    });
}

/// Two runs on one resident: each ends, with all its writes visible, and the resident ends when its mailbox closes.
fn runs(caller: Option<Isa>) {
    explore(2, move || {
        let mailbox = Arc::new(Mailbox::new());
        let own = Arc::clone(&mailbox);
        let thread = thread::spawn(move || reside(&own, &Equipment::new(Isa::SCALAR)));
        for _ in 0..2 {
            let count = AtomicUsize::new(0);
            let job = |_: &super::Worker<'_>| {
                count.fetch_add(1, Ordering::Relaxed);
            };
            run_together(&job, caller, std::iter::once(&*mailbox), terms()).unwrap();
            assert_eq!(count.load(Ordering::Relaxed), 1 + usize::from(caller.is_some()));
        }
        mailbox.close();
        thread.join().unwrap();
    });
}

#[test]
fn runs_with_the_caller_end() {
    runs(Some(Isa::SCALAR));
}

#[test]
fn runs_without_the_caller_end() {
    runs(None);
}

#[test]
fn a_rank_that_poisons_frees_the_other() {
    explore(2, || {
        let mailbox = Arc::new(Mailbox::new());
        let own = Arc::clone(&mailbox);
        let thread = thread::spawn(move || reside(&own, &Equipment::new(Isa::SCALAR)));
        let job = |worker: &super::Worker<'_>| {
            if worker.rank() == 1 {
                worker.poison();
            } else {
                assert!(worker.barrier().is_err());
            }
        };
        let result = run_together(&job, Some(Isa::SCALAR), std::iter::once(&*mailbox), terms());
        assert_eq!(result, Ok::<(), TeamError>(()));
        mailbox.close();
        thread.join().unwrap();
    });
}

#[test]
fn grants_exclude_each_other_and_wake_who_waits() {
    explore(2, || {
        let shared = Arc::new((Grants::new(), AtomicUsize::new(0)));
        let take = |shared: &(Grants, AtomicUsize), cores: &str| {
            let lease = Lease { wait: Duration::MAX, fewer: false };
            let grant = shared.0.take(&cores.parse().unwrap(), &lease).unwrap();
            assert_eq!(shared.1.fetch_add(1, Ordering::Relaxed), 0);
            shared.1.fetch_sub(1, Ordering::Relaxed);
            drop(grant);
        };
        let threads = ["0-1", "1-2"].map(|cores| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || take(&shared, cores))
        });
        take(&shared, "0-2");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

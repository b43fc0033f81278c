use std::sync::Mutex;
use std::thread;

use super::*;
use crate::testing::rounds;

fn set(cpus: &str) -> CpuSet {
    cpus.parse().unwrap()
}

const SOON: Lease = Lease { wait: Duration::from_millis(20), fewer: false };
const LATE: Lease = Lease { wait: Duration::from_secs(20), fewer: false };

#[test]
fn disjoint_cores_are_granted_at_once() {
    let grants = Grants::new();
    let _a = grants.take(&set("8-11"), &SOON).unwrap();
    let start = Instant::now();
    let b = grants.take(&set("12-15"), &LATE).unwrap();
    assert_eq!(*b.cores(), set("12-15"));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_wait_is_bounded_and_leaves_nothing_behind() {
    let grants = Grants::new();
    let a = grants.take(&set("0-3"), &SOON).unwrap();
    let start = Instant::now();
    assert!(grants.take(&set("3-4"), &SOON).is_none(), "all or nothing");
    assert!(start.elapsed() >= SOON.wait);
    assert!(grants.take(&set("4"), &SOON).is_some(), "nobody waits for core 4 any more");
    drop(a);
    assert!(grants.take(&set("0-4"), &SOON).is_some());
}

#[test]
fn fewer_cores_are_granted_where_that_is_allowed() {
    let grants = Grants::new();
    let _a = grants.take(&set("0-1"), &SOON).unwrap();
    let fewer = Lease { fewer: true, ..SOON };
    let b = grants.take(&set("0-3"), &fewer).unwrap();
    assert_eq!(*b.cores(), set("2-3"));
    assert!(grants.take(&set("0-3"), &fewer).is_none(), "no core is free");
}

#[test]
fn those_who_wait_for_a_core_get_it_in_their_order() {
    let grants = Grants::new();
    let order = Mutex::new(Vec::new());
    let held = grants.take(&set("0"), &LATE).unwrap();
    thread::scope(|scope| {
        // The second wants a core that is free, but the first, who came earlier, wants it too.
        for (name, cpus) in ["0-1", "1", "0"].iter().enumerate() {
            let (grants, order) = (&grants, &order);
            scope.spawn(move || {
                let _grant = grants.take(&set(cpus), &LATE).unwrap();
                order.lock().unwrap().push(name);
                thread::sleep(Duration::from_millis(5));
            });
            while lock(&grants.state).waiting.len() <= name {
                thread::yield_now();
            }
        }
        drop(held);
    });
    assert_eq!(order.lock().unwrap()[0], 0);
    assert_eq!(lock(&grants.state).taken, CpuSet::default());
}

#[test]
fn many_takers_never_share_a_core() {
    let grants = Grants::new();
    let users: Vec<Mutex<()>> = (0..4).map(|_| Mutex::new(())).collect();
    thread::scope(|scope| {
        for cpus in ["0-1", "1-2", "2-3", "0,3", "0-3", "1"] {
            let (grants, users) = (&grants, &users);
            scope.spawn(move || {
                for _ in rounds(300) {
                    let grant = grants.take(&set(cpus), &LATE).unwrap();
                    let held: Vec<_> = grant.cores().iter().map(|cpu| users[cpu].try_lock().unwrap()).collect();
                    drop(held);
                }
            });
        }
    });
}

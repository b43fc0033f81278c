//! Two stages of a pipeline on one chip: each stays on its own matrix cores.

use super::*;

/// A chip, the target for it, and the cores of the two stages.
fn chips() -> [(FakeChip, Target, [&'static str; 2]); 2] {
    [(FakeChip::k3(), Target::k3(), ["8-11", "12-15"]), (FakeChip::k1(), Target::k1(), ["0-1", "2-3"])]
}

/// Where the threads of the team's ranks may run, each on one CPU, over many runs.
fn cpus_of_ranks(chip: &FakeChip, team: &Team) -> String {
    let seen = Mutex::new(CpuSet::default());
    for _ in 0..100 {
        team.run(&|worker| {
            worker.barrier().unwrap();
            let mask = chip.affinity().unwrap();
            assert_eq!(mask.len(), 1);
            let mut seen = seen.lock().unwrap();
            *seen = seen.or(&mask);
        })
        .unwrap();
    }
    seen.into_inner().unwrap().to_string()
}

/// Both teams run at once, each on its cores, and the threads that call them stay where they are.
fn assert_apart(chip: &FakeChip, teams: &[Team; 2], cores: [&str; 2]) {
    let mask = chip.affinity().unwrap();
    thread::scope(|scope| {
        let second = scope.spawn(|| cpus_of_ranks(chip, &teams[1]));
        assert_eq!(cpus_of_ranks(chip, &teams[0]), cores[0]);
        assert_eq!(second.join().unwrap(), cores[1]);
    });
    assert_eq!(chip.affinity().unwrap(), mask);
}

#[test]
fn sessions_of_one_process_stay_on_the_cores_that_they_list() {
    for (chip, target, stages) in chips() {
        let pool = Arc::new(CorePool::new(Arc::new(chip.clone()), Machine::detect(&chip), true, |_| None));
        let teams = stages.map(|cores| {
            let cpus: Vec<usize> = cores.parse::<CpuSet>().unwrap().iter().collect();
            let target = target.with_workers(cpus.len());
            Team::on(&pool, &target, &Placement { cores: Cores::These(cpus), ..Placement::default() }).unwrap()
        });
        assert_apart(&chip, &teams, stages);
    }
}

#[test]
fn processes_stay_within_their_cpu_masks() {
    for (chip, target, stages) in chips() {
        let teams = stages.map(|cores| {
            let process = FakeChip { mask: cores.parse().unwrap(), ..chip.clone() };
            on(process, target, &Placement::default()).unwrap().0
        });
        assert_apart(&chip, &teams, stages);
    }
}

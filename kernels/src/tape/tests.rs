use std::fmt;

use super::*;

#[cfg(not(loom))]
mod scratchpads;

/// Adds one to every element; fails on rank `fail` when that is given.
struct Increment {
    len: usize,
    fail: Option<usize>,
}

impl fmt::Display for Increment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "increment {}", self.len)
    }
}

impl Driver for Increment {
    fn scratch(&self) -> usize {
        100
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        scratch.fill(worker.rank() as u8);
        let share = worker.share(self.len, 1);
        let (input, output) = (io.input::<i32>(0), io.output::<i32>(0));
        // SAFETY: shares of ranks are disjoint.
        let output = unsafe { output.range(share.clone()) };
        for (y, x) in output.iter_mut().zip(&input[share]) {
            *y = x + 1;
        }
        worker.barrier()?;
        assert!(scratch.iter().all(|&byte| byte == worker.rank() as u8), "scratch is private");
        if self.fail == Some(worker.rank()) { Err(RunError::Data("deliberate".into())) } else { Ok(()) }
    }
}

fn step(input: usize, output: usize, fail: Option<usize>) -> Step {
    Step {
        driver: Box::new(Increment { len: 10, fail }),
        inputs: [input].into_iter().collect(),
        outputs: [output].into_iter().collect(),
        label: output,
    }
}

fn buffers() -> Vec<Buffer> {
    [Place::Input(0), Place::Work(0), Place::Work(64), Place::Output(0)]
        .into_iter()
        .map(|place| Buffer { place, bytes: 40 })
        .collect()
}

fn run(tape: &Tape, ranks: usize) -> Result<Vec<i32>, TapeRunError> {
    let team = Team::new(ranks).unwrap();
    let input: Vec<i32> = (0..10).collect();
    let mut output = vec![0i32; 10];
    tape.run(
        &team,
        &mut Workspace::new(),
        &[bytemuck::cast_slice(&input)],
        &mut [bytemuck::cast_slice_mut(&mut output)],
    )?;
    Ok(output)
}

#[test]
fn steps_run_in_order_on_all_ranks() {
    let tape = Tape::new(buffers(), vec![step(0, 1, None), step(1, 2, None), step(2, 3, None)]).unwrap();
    for ranks in 1..=3 {
        assert_eq!(run(&tape, ranks).unwrap(), (3..13).collect::<Vec<i32>>());
    }
}

#[test]
fn only_steps_that_touch_the_same_bytes_wait() {
    let waits = |steps| Tape::new(buffers(), steps).unwrap().waits;
    assert_eq!(waits(vec![step(0, 1, None), step(0, 2, None), step(0, 3, None)]), [false, false, false]);
    let chain = vec![step(0, 1, None), step(0, 2, None), step(1, 3, None), step(2, 1, None)];
    assert_eq!(waits(chain), [false, false, true, true], "the last step writes what the third reads");
    assert_eq!(waits(vec![step(0, 1, None), step(0, 1, None)]), [false, true], "both write one buffer");
}

#[test]
fn the_first_failure_names_its_step_and_ends_the_run() {
    for fail in 0..2 {
        let tape = Tape::new(buffers(), vec![step(0, 1, None), step(1, 2, Some(fail)), step(2, 3, None)]).unwrap();
        let error = RunError::Data("deliberate".into());
        assert_eq!(run(&tape, 2), Err(TapeRunError::Step { label: 2, error }));
    }
}

#[test]
fn overlapping_operands_are_rejected() {
    let overlapping = |place| {
        let mut buffers = buffers();
        buffers[2].place = place;
        Tape::new(buffers, vec![step(1, 2, None)]).err()
    };
    assert_eq!(overlapping(Place::Work(39)), Some(TapeError::Aliased { step: 0 }));
    assert_eq!(overlapping(Place::Input(0)), Some(TapeError::Aliased { step: 0 }));
    assert_eq!(overlapping(Place::Work(40)), None);
    assert_eq!(Tape::new(buffers(), vec![step(1, 9, None)]).err(), Some(TapeError::UnknownBuffer { step: 0 }));
}

#[test]
fn wrong_sizes_are_errors() {
    let tape = Tape::new(buffers(), vec![step(0, 3, None)]).unwrap();
    let team = Team::new(1).unwrap();
    let error = tape.run(&team, &mut Workspace::new(), &[&[0u8; 36]], &mut [&mut [0u8; 40]]);
    assert_eq!(error, Err(TapeRunError::Size { index: 0, given: 36, expected: 40 }));
    let error = tape.run(&team, &mut Workspace::new(), &[], &mut [&mut [0u8; 40]]);
    assert_eq!(error, Err(TapeRunError::Size { index: 0, given: 0, expected: 40 }));
}

/// Adds one to every element in place.
struct InPlace(usize);

impl fmt::Display for InPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in_place {}", self.0)
    }
}

impl Driver for InPlace {
    fn in_place(&self) -> Option<[usize; 2]> {
        Some([0, 0])
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.0, 1);
        // SAFETY: shares of ranks are disjoint.
        let output = unsafe { io.output::<i32>(0).range(share.clone()) };
        if let Some(input) = io.separate_input::<i32>(0) {
            output.copy_from_slice(&input[share]);
        }
        output.iter_mut().for_each(|y| *y += 1);
        Ok(())
    }
}

fn update(input: usize, output: usize) -> Step {
    Step { driver: Box::new(InPlace(10)), ..step(input, output, None) }
}

#[test]
fn an_input_may_be_the_memory_of_the_output_that_updates_it() {
    let tape = Tape::new(buffers(), vec![update(0, 3), step(3, 1, None)]).unwrap();
    assert!(tape.may_share(0, 0));
    for ranks in 1..=3 {
        let team = Team::new(ranks).unwrap();
        let mut data: Vec<i32> = (0..10).collect();
        let outputs = &mut [bytemuck::cast_slice_mut(&mut data)];
        tape.run_sharing(&team, &mut Workspace::new(), &[Argument::Output(0)], outputs).unwrap();
        assert_eq!(data, (1..11).collect::<Vec<i32>>());
    }
    assert_eq!(run(&tape, 2).unwrap(), (1..11).collect::<Vec<i32>>());
}

#[test]
fn memory_that_other_steps_touch_is_not_shared() {
    let shares = |steps| Tape::new(buffers(), steps).unwrap().may_share(0, 0);
    assert!(!shares(vec![step(0, 3, None)]), "no update in place");
    assert!(!shares(vec![update(0, 3), step(0, 1, None)]), "the input is read elsewhere");
    assert!(!shares(vec![step(1, 3, None), update(0, 3)]), "the output is written before");
    assert!(!shares(vec![update(0, 3), step(1, 3, None)]), "the output is written after");
    assert!(!shares(vec![update(0, 1), step(1, 3, None)]), "the update goes elsewhere");
    let tape = Tape::new(buffers(), vec![step(0, 3, None)]).unwrap();
    let error =
        tape.run_sharing(&Team::new(1).unwrap(), &mut Workspace::new(), &[Argument::Output(0)], &mut [&mut [0u8; 40]]);
    assert_eq!(error, Err(TapeRunError::Shared { input: 0, output: 0 }));
}

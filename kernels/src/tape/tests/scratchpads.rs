//! Where the scratch of steps is on a chip with scratchpads.

use std::sync::Mutex;

use super::*;
use crate::isa::{CoreKind, Target};
use crate::ops::epilogue::Epilogue;
use crate::ops::matmul_int::{IntOutput, LeftSide, MatMulInt, ZeroPoint};
use crate::pack::{PackedWeights, WeightData, WeightSource};
use crate::rt::TcmUse;
use crate::rt::fake::k3;
use crate::select;
use crate::tcm::Tcm;
use crate::tcm::fake::{BLOCK, Chip, FakeDevice, K3_MASKS, k3_tcm, of_device};

/// A step with so many bytes of scratch, which tells where they are.
struct Told(usize, Arc<Mutex<Vec<(usize, usize)>>>);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("told")
    }
}

impl Driver for Told {
    fn scratch(&self) -> usize {
        self.0
    }

    fn run(&self, worker: &Worker<'_>, _io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        assert_eq!(scratch.len(), self.0);
        scratch.fill(1);
        if worker.rank() == 0 {
            self.1.lock().unwrap().push((self.0, scratch.as_ptr().addr()));
        }
        Ok(())
    }
}

#[test]
fn steps_that_fit_have_the_scratchpad_and_others_the_heap() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = |bytes| Step {
        driver: Box::new(Told(bytes, Arc::clone(&seen))),
        inputs: SmallVec::new(),
        outputs: SmallVec::new(),
        label: 0,
    };
    let tape = Tape::new(Vec::new(), vec![told(64), told(0), told(BLOCK + 64), told(BLOCK)]).unwrap();
    let tape = tape.with_scratchpads_of(BLOCK);
    let staged: Vec<bool> = tape.steps().iter().map(|step| tape.is_staged(step)).collect();
    assert_eq!(staged, [true, false, false, true]);
    tape.run(&k3(TcmUse::Auto, k3_tcm), &mut Workspace::new(), &[], &mut []).unwrap();
    let seen = seen.lock().unwrap();
    let at = |bytes| seen.iter().find(|step| step.0 == bytes).unwrap().1;
    assert_eq!(at(64), at(BLOCK));
    assert!(at(BLOCK + 64).abs_diff(at(BLOCK)) >= BLOCK, "the heap is elsewhere");
}

/// Scratchpads of which another process has all.
fn busy(_kind: CoreKind) -> Option<Tcm> {
    let chip = Chip::new(8);
    *chip.owners.lock().unwrap() = vec![7; 8];
    of_device(FakeDevice { masks: K3_MASKS.to_vec(), ..FakeDevice::new(&chip, 1) })
}

#[test]
fn products_are_the_same_with_and_without_scratchpads() {
    let (target, [m, n, k]) = (Target::k1(), [12, 96, 16]);
    let b: Vec<i8> = (0..k * n).map(|index| (index * 37 % 251) as u8 as i8).collect();
    let a: Vec<u8> = (0..m * k).map(|index| (index * 91 % 253) as u8).collect();
    let source = WeightSource { data: WeightData::I8(&b), k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(select::i8_layout(&target), source).unwrap());
    let product = |tcm, open, staged: usize| {
        let left = LeftSide { signed: false, zero_point: ZeroPoint::Absent };
        let output = IntOutput::F32 { b_scales: vec![0.5], epilogue: Epilogue::NONE };
        let driver = MatMulInt::new(&target, m, left, Arc::clone(&weights), &[], output);
        let places = [(Place::Input(0), m * k), (Place::Input(1), 4), (Place::Output(0), 4 * m * n)];
        let buffers = places.into_iter().map(|(place, bytes)| Buffer { place, bytes }).collect();
        let step = Step {
            driver: Box::new(driver),
            inputs: [0, 1].into_iter().collect(),
            outputs: [2].into_iter().collect(),
            label: 0,
        };
        let tape = Tape::new(buffers, vec![step]).unwrap().with_scratchpads_of(staged);
        assert_eq!(tape.is_staged(&tape.steps()[0]), staged == BLOCK);
        let mut y = vec![0f32; m * n];
        let inputs = [&*a, bytemuck::bytes_of(&0.25f32)];
        let outputs: &mut [u8] = bytemuck::cast_slice_mut(&mut y);
        tape.run(&k3(tcm, open), &mut Workspace::new(), &inputs, &mut [outputs]).unwrap();
        y
    };
    let sum = |row: usize, column: usize| -> i32 {
        (0..k).map(|depth| i32::from(a[row * k + depth]) * i32::from(b[depth * n + column])).sum()
    };
    let wanted: Vec<f32> = (0..m * n).map(|index| sum(index / n, index % n) as f32 * 0.125).collect();
    assert_eq!(product(TcmUse::Auto, k3_tcm, BLOCK), wanted);
    assert_eq!(product(TcmUse::Auto, k3_tcm, 64), wanted);
    assert_eq!(product(TcmUse::Off, k3_tcm, BLOCK), wanted);
    assert_eq!(product(TcmUse::AtMost(64), k3_tcm, BLOCK), wanted);
    assert_eq!(product(TcmUse::Auto, busy, BLOCK), wanted);
}

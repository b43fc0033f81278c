//! Runs one driver in a test.

use crate::driver::{Driver, RunError};
use crate::mem::{AlignedBuf, Workspace};
use crate::rt::Team;
use crate::tape::{Buffer, Place, Step, Tape, TapeRunError};
use crate::tensor::Element;

/// `count` rounds of a test, but few under Miri, which takes a thousand times as long.
pub(crate) fn rounds(count: usize) -> std::ops::Range<usize> {
    0..if cfg!(miri) { 2 } else { count }
}

/// Runs `driver` on `ranks` ranks and returns its outputs, whose sizes are `output_bytes`. Outputs start as garbage, so
/// an element that the driver leaves out shows.
pub(crate) fn run(
    driver: impl Driver + 'static,
    ranks: usize,
    inputs: &[&[u8]],
    output_bytes: &[usize],
) -> Result<Vec<AlignedBuf>, RunError> {
    let read = inputs.iter().enumerate().map(|(i, bytes)| Buffer { place: Place::Input(i), bytes: bytes.len() });
    let written = output_bytes.iter().enumerate().map(|(i, &bytes)| Buffer { place: Place::Output(i), bytes });
    let step = Step {
        driver: Box::new(driver),
        inputs: (0..inputs.len()).collect(),
        outputs: (inputs.len()..inputs.len() + output_bytes.len()).collect(),
        label: 0,
    };
    let tape = Tape::new(read.chain(written).collect(), vec![step]).unwrap();
    let mut outputs: Vec<_> = output_bytes.iter().map(|&bytes| AlignedBuf::copy_of(&vec![0xa5; bytes])).collect();
    let result = {
        let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(|buf| &mut **buf).collect();
        tape.run(&Team::new(ranks).unwrap(), &mut Workspace::new(), inputs, &mut slices)
    };
    match result {
        Ok(()) => Ok(outputs),
        Err(TapeRunError::Step { error, .. }) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

/// [`run`] for a driver with one output, of `len` elements.
pub(crate) fn run_one<T: Element>(
    driver: impl Driver + 'static,
    ranks: usize,
    inputs: &[&[u8]],
    len: usize,
) -> Result<Vec<T>, RunError> {
    let outputs = run(driver, ranks, inputs, &[len * size_of::<T>()])?;
    Ok(bytemuck::cast_slice(&outputs[0]).to_vec())
}

/// A fixed sequence of numbers in -1..1, another for each seed.
pub(crate) fn floats(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

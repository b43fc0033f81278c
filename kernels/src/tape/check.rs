use super::{Buffer, Place, Step, TapeError, TapeRunError};

/// Checks one step's operands.
pub(super) fn check_step(buffers: &[Buffer], step: &Step, index: usize) -> Result<(), TapeError> {
    let get = |id: usize| buffers.get(id).ok_or(TapeError::UnknownBuffer { step: index });
    for (position, &output) in step.outputs.iter().enumerate() {
        let written = get(output)?;
        if matches!(written.place, Place::Input(_) | Place::Const(_)) {
            return Err(TapeError::Aliased { step: index });
        }
        let others = step.outputs.iter().skip(position + 1).chain(&step.inputs);
        for &other in others {
            if overlap(written, get(other)?) {
                return Err(TapeError::Aliased { step: index });
            }
        }
    }
    step.inputs.iter().try_for_each(|&input| get(input).map(|_| ()))
}

/// For each step whether it touches bytes that a step since the last barrier writes, or writes bytes that one reads.
/// Independent neighbours, such as the projections of one attention, run as one: a rank that is done goes ahead.
pub(super) fn waits(buffers: &[Buffer], steps: &[Step]) -> Vec<bool> {
    let touch = |a: &[usize], b: &[usize]| a.iter().any(|&a| b.iter().any(|&b| overlap(&buffers[a], &buffers[b])));
    let mut first = 0;
    let mut waits = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let depends = steps[first..index].iter().any(|earlier| {
            touch(&earlier.outputs, &step.inputs)
                || touch(&earlier.outputs, &step.outputs)
                || touch(&earlier.inputs, &step.outputs)
        });
        if depends {
            first = index;
        }
        waits.push(depends);
    }
    waits
}

/// The pairs of a caller's input and output that a step updates in place, where nothing else reads the input, nothing
/// earlier touches the output and nothing else writes it.
pub(super) fn shareable(buffers: &[Buffer], steps: &[Step], inputs: usize, outputs: usize) -> Vec<(usize, usize)> {
    let mut reads = vec![0; inputs];
    let mut writes = vec![0; outputs];
    let mut first_touch = vec![None; outputs];
    for (at, step) in steps.iter().enumerate() {
        for &id in &step.inputs {
            match buffers[id].place {
                Place::Input(input) => reads[input] += 1,
                Place::Output(output) => _ = first_touch[output].get_or_insert(at),
                Place::Work(_) | Place::Const(_) => {}
            }
        }
        for &id in &step.outputs {
            if let Place::Output(output) = buffers[id].place {
                first_touch[output].get_or_insert(at);
                writes[output] += 1;
            }
        }
    }
    let pair = |(at, step): (usize, &Step)| {
        let [read, written] = step.driver.in_place()?;
        let (from, to) = (&buffers[step.inputs[read]], &buffers[step.outputs[written]]);
        let (&Place::Input(input), &Place::Output(output)) = (&from.place, &to.place) else { return None };
        let alone = reads[input] == 1 && writes[output] == 1 && first_touch[output] == Some(at);
        (alone && from.bytes == to.bytes).then_some((input, output))
    };
    steps.iter().enumerate().filter_map(pair).collect()
}

fn overlap(a: &Buffer, b: &Buffer) -> bool {
    match (&a.place, &b.place) {
        (Place::Output(a), Place::Output(b)) => a == b,
        (Place::Work(x), Place::Work(y)) => *x < y + b.bytes && *y < x + a.bytes,
        _ => false,
    }
}

pub(super) fn note_size(sizes: &mut Vec<usize>, index: usize, bytes: usize) {
    if sizes.len() <= index {
        sizes.resize(index + 1, 0);
    }
    sizes[index] = sizes[index].max(bytes);
}

pub(super) fn check_sizes(expected: &[usize], given: impl ExactSizeIterator<Item = usize>) -> Result<(), TapeRunError> {
    let count = given.len();
    for (index, given) in given.enumerate().take(expected.len()) {
        if given != expected[index] && expected[index] != 0 {
            return Err(TapeRunError::Size { index, given, expected: expected[index] });
        }
    }
    match expected.get(count) {
        Some(&missing) => Err(TapeRunError::Size { index: count, given: 0, expected: missing }),
        None => Ok(()),
    }
}

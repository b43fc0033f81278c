//! A sentence encoder on one core: `encoder MODEL.onnx CPU`. For each line of standard input it encodes two sentences and
//! prints a digest of the hidden states. `demo/emulated_coscheduling.py` starts it in emulation.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

use ort::session::Session;
use ort::value::Tensor;

/// Two sentences of 16 tokens: the numbers of their tokens, and how many tokens the second has.
const TOKENS: [i64; 2] = [1000, 2000];
const LENGTH: usize = 16;
const SECOND: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, cpu] = arguments.as_slice() else { return Err("usage: encoder MODEL.onnx CPU".into()) };
    keep_to(cpu.parse()?)?;
    let mut session = e2e::builder(&[("claim", "all"), ("threads", "1"), ("cores", cpu)])?
        .with_disable_cpu_fallback()?
        .with_intra_threads(1)?
        .commit_from_file(model)?;
    for line in io::stdin().lines() {
        line?;
        println!("{:016x}", encode(&mut session)?);
        io::stdout().flush()?;
    }
    Ok(())
}

/// Keeps the calling thread, which hands the work to the provider's worker, on the core.
fn keep_to(cpu: usize) -> io::Result<()> {
    // SAFETY: a set of CPUs is plain numbers, and the call reads it.
    let result = unsafe {
        let mut set = std::mem::zeroed::<libc::cpu_set_t>();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn encode(session: &mut Session) -> ort::Result<u64> {
    let tensor =
        |value: fn(usize) -> i64| Tensor::from_array(([2, LENGTH], (0..2 * LENGTH).map(value).collect::<Vec<i64>>()));
    let outputs = session.run(ort::inputs![
        "input_ids" => tensor(|at| TOKENS[at / LENGTH] + (at % LENGTH) as i64)?,
        "attention_mask" => tensor(|at| i64::from(at < LENGTH + SECOND))?,
        "token_type_ids" => tensor(|_| 0)?,
    ])?;
    let (_, hidden) = outputs[0].try_extract_tensor::<f32>()?;
    let mut digest = DefaultHasher::new();
    hidden.iter().for_each(|number| number.to_bits().hash(&mut digest));
    Ok(digest.finish())
}

//! Every operator, given inputs that are missing or of wrong types, ranks, sizes and contents: it declines, fails with
//! an error or runs. It never panics.

mod random;

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use ep::ir::{Attr, Dim, Graph, GraphBuilder, NodeSpec, ValueId};
use ep::ops::{Code, Lower, OpRow, Packing, lower, rows};
use ep::{Accuracy, DType, Error, Options, Provider, Target, TensorView};
use random::{DTYPES, Random, SHAPES};

/// Random nodes of each row and version.
const CASES: u64 = 300;

/// Programs that ask for more than this, outputs and arena together, are planned but not run.
const MAX_BYTES: usize = 1 << 22;

/// Places and messages of all panics so far.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Case {
    graph: Graph<'static>,
    /// What the run is given: type, dimensions, storage, bytes.
    inputs: Vec<(DType, &'static [usize], Vec<u64>, usize)>,
}

fn spec(row: &OpRow, version: i32, inputs: Vec<Option<ValueId>>, outputs: Vec<Option<ValueId>>) -> NodeSpec<'static> {
    NodeSpec {
        name: row.name.into(),
        domain: row.domain.into(),
        op_type: row.name.into(),
        since_version: version,
        inputs,
        outputs,
        attrs: Vec::new(),
        origin: 0,
    }
}

/// A node that is plausible in most respects and wrong in some.
fn case(row: &OpRow, version: i32, random: &mut Random) -> Case {
    let mut builder = GraphBuilder::new("robustness");
    let (main_dtype, main_dims) = (random.of(&[DType::F32, DType::F16, DType::I64, DType::U8]), random.of(&SHAPES));
    let dtype = |random: &mut Random| if random.one_in(4) { random.of(&DTYPES) } else { main_dtype };
    let dims = |random: &mut Random| if random.one_in(2) { random.of(&SHAPES) } else { main_dims };
    let most = *row.inputs.end().min(&(row.inputs.start() + 8));
    let count = row.inputs.start() + random.below(most - row.inputs.start() + 1);
    let (mut ids, mut inputs) = (Vec::new(), Vec::new());
    for index in 0..count {
        if random.one_in(8) {
            ids.push(None);
            continue;
        }
        let (dtype, dims) = (dtype(random), dims(random));
        let id = builder.value(&format!("x{index}"), None, None);
        ids.push(Some(id));
        if random.one_in(2) {
            builder.constant(id, random.tensor(dtype, dims));
            continue;
        }
        // At run time the shape may be another than the declared one, and the declared one may be absurd.
        let actual = if random.one_in(4) { random.of(&SHAPES) } else { dims };
        let shape = match random.below(6) {
            0 => None,
            1 => Some(vec![Dim::Unknown; dims.len()]),
            2 if actual != dims => Some(vec![Dim::Known(usize::MAX / 2); dims.len()]),
            _ => Some(dims.iter().map(|&dim| Dim::Known(dim)).collect()),
        };
        builder.value(&format!("x{index}"), Some(dtype), shape);
        builder.input(id);
        let (words, len) = random.words(dtype, actual);
        inputs.push((dtype, actual, words, len));
    }
    let most = *row.outputs.end().min(&(row.outputs.start() + 3));
    let count = row.outputs.start() + random.below(most - row.outputs.start() + 1);
    let mut outputs = Vec::new();
    for index in 0..count {
        let known = (!random.one_in(4)).then(|| dtype(random));
        let id = builder.value(&format!("y{index}"), known, None);
        builder.output(id);
        outputs.push(Some(id));
    }
    let attrs = row.attrs.iter().filter(|_| random.one_in(2)).count();
    let attrs = row.attrs.iter().take(attrs).map(|name| ((*name).to_owned(), random.attr())).collect();
    builder.node(NodeSpec { attrs, ..spec(row, version, ids, outputs) });
    Case { graph: builder.finish().unwrap(), inputs }
}

fn run(provider: &Provider, case: &Case) -> Result<(), Error> {
    provider.claim(&case.graph)?;
    let group = provider.compile(&case.graph)?;
    let views: Vec<TensorView<'_>> = case
        .inputs
        .iter()
        .map(|(dtype, dims, words, len)| TensorView {
            dtype: *dtype,
            dims,
            bytes: &bytemuck::cast_slice(words)[..*len],
        })
        .collect();
    let run = group.begin(&views)?;
    let workspace = run.program().tape.workspace_req();
    let sizes: Vec<usize> = (0..group.output_names().len())
        .map(|index| run.output_dims(index).iter().fold(run.output_dtype(index).size(), |a, &b| a.saturating_mul(b)))
        .map(|bytes| if bytes == usize::MAX { 0 } else { bytes })
        .collect();
    if sizes.iter().sum::<usize>() + workspace.shared + workspace.per_rank > MAX_BYTES {
        return Ok(());
    }
    let mut outputs: Vec<Vec<u64>> = sizes.iter().map(|size| vec![0; size.div_ceil(8)]).collect();
    let mut outputs: Vec<&mut [u8]> = outputs
        .iter_mut()
        .zip(&sizes)
        .map(|(words, &size)| &mut bytemuck::cast_slice_mut::<u64, u8>(words)[..size])
        .collect();
    run.execute(&views, &mut outputs)
}

#[test]
fn no_operator_panics() {
    set_hook(Box::new(|info| PANICS.lock().unwrap().push(info.to_string())));
    let provider = Provider::new(Options::parse([("threads", "2"), ("claim", "all")]).unwrap()).unwrap();
    let mut ran = 0;
    let mut culprits = Vec::new();
    for row in rows() {
        for version in [*row.versions.start(), (*row.versions.end()).min(99)] {
            for seed in 0..CASES {
                let case = case(row, version, &mut Random(seed));
                let result = catch_unwind(AssertUnwindSafe(|| run(&provider, &case)));
                ran += usize::from(matches!(result, Ok(Ok(()))));
                // A panic of a worker thread comes back as an error, so the hook is the witness.
                for panic in PANICS.lock().unwrap().drain(..) {
                    culprits.push(format!("{} {version}, seed {seed}: {panic}", row.name));
                }
            }
        }
    }
    drop(take_hook());
    assert!(culprits.is_empty(), "{} panics:\n{}", culprits.len(), culprits.join("\n"));
    assert!(ran > 1000, "only {ran} cases got as far as running");
}

#[test]
fn no_operator_takes_an_attribute_it_does_not_know() {
    for row in rows() {
        let mut builder = GraphBuilder::new("attribute");
        let ids = |builder: &mut GraphBuilder<'_>, count, prefix: &str| {
            (0..count).map(|index| Some(builder.value(&format!("{prefix}{index}"), Some(DType::F32), None))).collect()
        };
        let inputs = ids(&mut builder, *row.inputs.start(), "x");
        let outputs = ids(&mut builder, *row.outputs.start(), "y");
        let attrs = vec![("spacemit_unheard_of".to_owned(), Attr::Int(1))];
        builder.node(NodeSpec { attrs, ..spec(row, *row.versions.start(), inputs, outputs) });
        let graph = builder.finish().unwrap();
        let (_, node) = graph.nodes().next().unwrap();
        let decline = lower(&Lower::new(&graph, node, &Target::host(1), Accuracy::Fp32, Packing::Plan)).err().unwrap();
        assert_eq!(decline.code, Code::Attribute, "{}: {decline}", row.name);
        assert!(decline.reason.contains("spacemit_unheard_of"), "{decline}");
    }
}

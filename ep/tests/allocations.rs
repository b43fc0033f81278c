//! A run for shapes that were seen before allocates nothing, on any thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ep::ir::{Attr, Dim, Graph, GraphBuilder, NodeSpec};
use ep::onnx::{ModelProto, graph_of};
use ep::{Argument, CompiledGroup, DType, Options, Provider, TensorView};
use kernels::sys::{Linux, System as _};
use prost::Message;

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc` above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of ten calls after two others.
fn allocations(mut call: impl FnMut()) -> usize {
    (0..2).for_each(|_| call());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..10).for_each(|_| call());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn compile(graph: &Graph<'_>, option: (&str, &str)) -> CompiledGroup {
    let provider = Provider::new(Options::parse([option]).unwrap()).unwrap();
    provider.compile(graph).unwrap()
}

fn encoder(model: &[u8], option: (&str, &str)) -> usize {
    let group = compile(&graph_of(&ModelProto::decode(model).unwrap()).unwrap(), option);
    let (batch, sequence) = (2, 16);
    let tokens = vec![0u64; batch * sequence];
    let tokens = TensorView { dtype: DType::I64, dims: &[batch, sequence], bytes: bytemuck::cast_slice(&tokens) };
    let inputs = vec![tokens; group.input_names().len()];
    let mut output = vec![0f32; batch * sequence * 384];
    allocations(|| {
        let run = group.begin(&inputs).unwrap();
        run.execute(&inputs, &mut [bytemuck::cast_slice_mut(&mut output)]).unwrap();
    })
}

const WIDTH: usize = 64;
const CAPACITY: usize = 300;

/// One attention of three query heads on a key and value head, with caches.
fn decoder() -> Graph<'static> {
    let mut builder = GraphBuilder::new("decoder");
    let mut value = |name: &str, dtype: DType, dims: &[usize]| {
        builder.value(name, Some(dtype), Some(dims.iter().map(|&dim| Dim::Known(dim)).collect()))
    };
    let cache = [1, 1, CAPACITY, WIDTH];
    let inputs = [
        value("qkv", DType::F32, &[1, 1, 5 * WIDTH]),
        value("past_key", DType::F32, &cache),
        value("past_value", DType::F32, &cache),
        value("last", DType::I32, &[1]),
        value("total", DType::I32, &[1]),
    ];
    let outputs = [
        value("y", DType::F32, &[1, 1, 3 * WIDTH]),
        value("key", DType::F32, &cache),
        value("value", DType::F32, &cache),
    ];
    let [qkv, key, cached, last, total] = inputs.map(Some);
    inputs.into_iter().for_each(|id| builder.input(id));
    builder.node(NodeSpec {
        name: "attention".into(),
        domain: "com.microsoft".into(),
        op_type: "GroupQueryAttention".into(),
        since_version: 1,
        inputs: vec![qkv, None, None, key, cached, last, total],
        outputs: outputs.map(Some).to_vec(),
        attrs: vec![("num_heads".into(), Attr::Int(3)), ("kv_num_heads".into(), Attr::Int(1))],
        origin: 0,
    });
    outputs.into_iter().for_each(|id| builder.output(id));
    builder.finish().unwrap()
}

fn decode_steps(option: (&str, &str)) -> usize {
    let group = compile(&decoder(), option);
    let qkv = vec![0.5f32; 5 * WIDTH];
    let (mut key, mut value) = (vec![0.25f32; CAPACITY * WIDTH], vec![0.25f32; CAPACITY * WIDTH]);
    let (last, total) = ([CAPACITY as i32 - 1], [CAPACITY as i32]);
    let cache = [1, 1, CAPACITY, WIDTH];
    let mut y = vec![0f32; 3 * WIDTH];
    let bytes = key.clone();
    let view = |dtype, dims, bytes| TensorView { dtype, dims, bytes };
    let views = [
        view(DType::F32, &[1, 1, 5 * WIDTH][..], bytemuck::cast_slice(&qkv)),
        view(DType::F32, &cache, bytemuck::cast_slice(&bytes)),
        view(DType::F32, &cache, bytemuck::cast_slice(&bytes)),
        view(DType::I32, &[1], bytemuck::cast_slice(&last)),
        view(DType::I32, &[1], bytemuck::cast_slice(&total)),
    ];
    let given = |index: usize| Argument::Bytes(views[index].bytes);
    let arguments = [given(0), Argument::Output(1), Argument::Output(2), given(3), given(4)];
    allocations(|| {
        let outputs = &mut [&mut y, &mut key, &mut value].map(|data| bytemuck::cast_slice_mut(data));
        group.begin(&views).unwrap().execute_sharing(&arguments, outputs).unwrap();
    })
}

#[test]
fn runs_of_known_shapes_allocate_nothing() {
    let core = Linux.affinity().unwrap().iter().next().unwrap().to_string();
    for option in [("threads", "1"), ("threads", "3"), ("cores", core.as_str())] {
        assert_eq!(encoder(include_bytes!("graphs/minilm-fp32.onnx"), option), 0, "fp32, {option:?}");
        assert_eq!(encoder(include_bytes!("graphs/minilm-dq8.onnx"), option), 0, "int8, {option:?}");
        assert_eq!(decode_steps(option), 0, "decode steps, {option:?}");
    }
}

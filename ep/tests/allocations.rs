//! A run for shapes that were seen before allocates nothing, on any thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ep::onnx::{ModelProto, graph_of};
use ep::{DType, Options, Provider, TensorView};
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

/// Allocations of ten runs of a model after two others.
fn allocations(model: &[u8], threads: &str) -> usize {
    let graph = graph_of(&ModelProto::decode(model).unwrap()).unwrap();
    let provider = Provider::new(Options::parse([("threads", threads)]).unwrap()).unwrap();
    let group = provider.compile(&graph).unwrap();
    let (batch, sequence) = (2, 16);
    let tokens = vec![0u64; batch * sequence];
    let tokens = TensorView { dtype: DType::I64, dims: &[batch, sequence], bytes: bytemuck::cast_slice(&tokens) };
    let inputs = vec![tokens; group.input_names().len()];
    let mut output = vec![0f32; batch * sequence * 384];
    let mut run = || {
        let run = group.begin(&inputs).unwrap();
        run.execute(&inputs, &mut [bytemuck::cast_slice_mut(&mut output)]).unwrap();
    };
    (0..2).for_each(|_| run());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..10).for_each(|_| run());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn runs_of_known_shapes_allocate_nothing() {
    for threads in ["1", "3"] {
        assert_eq!(allocations(include_bytes!("graphs/minilm-fp32.onnx"), threads), 0, "fp32, {threads} threads");
        assert_eq!(allocations(include_bytes!("graphs/minilm-dq8.onnx"), threads), 0, "int8, {threads} threads");
    }
}

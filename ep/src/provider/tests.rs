use super::*;
use crate::testing::{Model, Value};

fn group(options: &[(&str, &str)]) -> CompiledGroup {
    let mut model = Model::new();
    let weight: Vec<f32> = (0..512 * 256).map(|i| (i % 13) as f32 - 6.0).collect();
    model.input_of("x", kernels::tensor::DType::F32, vec![crate::ir::Dim::Unknown, crate::ir::Dim::Known(512)]);
    model.constant("w", &[512, 256], &weight).node("MatMul", &["x", "w"], &["y"], vec![]).output("y");
    Provider::new(Options::parse(options.iter().copied()).unwrap()).unwrap().compile(&model.graph()).unwrap()
}

/// The product of `rows` rows, in bits.
fn run(group: &CompiledGroup, rows: usize) -> Vec<u32> {
    let x = Value::new(&[rows, 512], &(0..rows * 512).map(|i| (i % 7) as f32 / 3.0).collect::<Vec<_>>());
    let mut y = vec![0u32; rows * 256];
    group.begin(&[x.view()]).unwrap().execute(&[x.view()], &mut [bytemuck::cast_slice_mut(&mut y)]).unwrap();
    y
}

#[test]
fn results_do_not_depend_on_where_the_memory_comes_from() {
    for target in ["host", "k1", "k3"] {
        let expected = run(&group(&[("target", target), ("threads", "2")]), 5);
        for backend in ["posix", "hugepage", "hugetlb"] {
            let group = group(&[("target", target), ("threads", "2"), ("mem_backend", backend)]);
            assert!(run(&group, 5) == expected, "{target} {backend}");
        }
    }
}

#[test]
fn a_group_keeps_as_many_programs_as_the_option_says() {
    let group = group(&[("plan_cache", "2")]);
    let programs = || group.programs.lock().unwrap().iter().map(|program| program.outputs[0].1[0]).collect::<Vec<_>>();
    for (rows, kept) in [(1, &[1][..]), (2, &[2, 1]), (1, &[1, 2]), (3, &[3, 1]), (2, &[2, 3])] {
        run(&group, rows);
        assert_eq!(programs(), kept);
    }
}

#[test]
fn sessions_share_their_workers_only_when_asked() {
    let team = |options: &[(&str, &str)]| group(options).workers.team().unwrap();
    let asked = [("threads", "3"), ("share_threads", "yes")];
    let (first, second) = (team(&asked), team(&asked));
    assert!(Arc::ptr_eq(&first, &second));
    assert!(!Arc::ptr_eq(&first, &team(&[("threads", "2"), ("share_threads", "yes")])), "other workers");
    assert!(!Arc::ptr_eq(&first, &team(&[("threads", "3")])));
    let gone = Arc::downgrade(&first);
    drop((first, second));
    assert!(gone.upgrade().is_none(), "the workers end with the last session");
}

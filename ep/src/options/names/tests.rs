use super::super::Options;
use super::*;

fn options(pairs: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<Options, Error> {
    let environment = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Options::parse_with(pairs.iter().copied(), environment)
}

#[test]
fn names_of_other_programs_mean_our_options() {
    let theirs = [
        ("SPACEMIT_EP_INTRA_THREAD_NUM", "2"),
        ("SPACEMIT_EP_INTRA_THREAD_AFFINITY", "8;9"),
        ("SPACEMIT_EP_INTER_THREAD_NUM", "1"),
        ("SPACEMIT_EP_USE_GLOBAL_INTRA_THREAD", "1"),
        ("SPACEMIT_EP_DUMP_SUBGRAPHS", "1"),
        ("SPACEMIT_EP_DEBUG_PROFILE", "demo"),
        ("SPACEMIT_EP_DUMP_TENSORS", "tensors"),
        ("SPACEMIT_EP_DISABLE_OP_TYPE_FILTER", "Slice;Add"),
        ("SPACEMIT_EP_DISABLE_OP_NAME_FILTER", "n"),
        ("SPACEMIT_EP_DISABLE_FLOAT16_EPILOGUE", "1"),
        ("SPACEMIT_EP_DENSE_ACCURACY_LEVEL", "1"),
        ("SPACEMIT_PERFER_CORE_ID", "9"),
        ("GGML_SPACEMIT_WORKERS", "2"),
        ("SPACEMIT_MEM_BACKEND", "HPAGE"),
        ("SPACEMIT_DISABLE_TCM", "1"),
    ];
    let ours = [
        ("threads", "2"),
        ("cores", "8-9"),
        ("share_threads", "yes"),
        ("dump_subgraphs", "."),
        ("profile", "demo.json"),
        ("dump_tensors", "tensors"),
        ("disable_ops", "Slice,Add"),
        ("disable_nodes", "n"),
        ("accuracy", "fp16"),
        ("preferred_cores", "9"),
        ("mem_backend", "hugepage"),
        ("tcm", "off"),
    ];
    assert_eq!(options(&theirs, &[]), options(&ours, &[]));
    assert_eq!(options(&[], &theirs), options(&ours, &[]));
}

#[test]
fn switches_of_other_programs_can_be_off() {
    let off = [
        ("SPACEMIT_DISABLE_TCM", "0"),
        ("SPACEMIT_EP_DUMP_SUBGRAPHS", "0"),
        ("SPACEMIT_EP_USE_GLOBAL_INTRA_THREAD", "0"),
        ("SPACEMIT_EP_DENSE_ACCURACY_LEVEL", "2"),
        ("SPACEMIT_MEM_BACKEND", "NONE"),
    ];
    assert_eq!(options(&off, &[]), options(&[], &[]));
}

#[test]
fn what_cannot_be_done_says_why() {
    for (name, value, reason) in [
        ("SPACEMIT_EP_INTER_THREAD_NUM", "2", "follow one another"),
        ("SPACEMIT_EP_DISABLE_FLOAT16_EPILOGUE", "0", "in f32"),
        ("SPACEMIT_EP_DENSE_ACCURACY_LEVEL", "3", "fp32, fp16, int8"),
        ("SPACEMIT_MEM_BACKEND", "tape", "posix, hugepage, hugetlb"),
        ("SPACEMIT_EP_ENABLE_DMA", "1", "unknown"),
    ] {
        let error = options(&[(name, value)], &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("'{name}'")) && error.contains(reason), "{error}");
    }
}

#[test]
fn every_option_has_a_variable() {
    assert_eq!(options(&[], &[("SPACEMIT_EP_LEASE_TIMEOUT_MS", "7")]), options(&[("lease_timeout_ms", "7")], &[]));
    assert_eq!(options(&[], &[("SPACEMIT_EP_THREADS", "")]), options(&[], &[]));
    let wrong = options(&[], &[("SPACEMIT_EP_THREADS", "many")]).unwrap_err().to_string();
    assert!(wrong.contains("'SPACEMIT_EP_THREADS'"), "{wrong}");
}

#[test]
fn names_that_disagree_are_both_named() {
    let agreeing = options(&[("threads", "4")], &[("GGML_SPACEMIT_WORKERS", "4")]);
    assert_eq!(agreeing.unwrap().threads, Some(4));
    for (key, value, other, theirs) in [
        ("threads", "4", "GGML_SPACEMIT_WORKERS", "2"),
        ("tcm", "auto", "SPACEMIT_DISABLE_TCM", "1"),
        ("SPACEMIT_MEM_BACKEND", "POSIX", "SPACEMIT_EP_MEM_BACKEND", "hugetlb"),
    ] {
        let error = options(&[(key, value)], &[(other, theirs)]).unwrap_err().to_string();
        assert!(error.contains(other) && error.contains(&format!("{key} = ")), "{error}");
    }
}

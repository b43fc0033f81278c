use super::*;

#[test]
fn panics_in_profiler_callbacks_become_statuses() {
    let factory = create_factory(c"1.25.1").unwrap();
    set_options(&[]);
    let ep = create_ep(factory).unwrap();
    let mut profiler = ptr::null_mut();
    // SAFETY: a live provider and a live profiler; no argument is read before the panic.
    unsafe {
        assert_eq!((*ep).ort_version_supported, 25);
        assert_internal_error(panicking(|| ((*ep).CreateProfiler)(ep, &mut profiler)));
        assert!(profiler.is_null());
        assert_eq!(take_status(((*ep).CreateProfiler)(ep, &mut profiler)), None);
        assert_internal_error(panicking(|| ((*profiler).StartProfiling)(profiler, 0)));
        assert_internal_error(panicking(|| ((*profiler).EndProfiling)(profiler, ptr::null_mut())));
        // ONNX Runtime may keep it for longer than the provider.
        ((*factory).ReleaseEp)(factory, ep);
        panicking(|| ((*profiler).Release)(profiler));
    }
    release(factory);
}

#[test]
fn older_hosts_are_not_offered_a_profiler() {
    let factory = create_factory(c"1.24.4").unwrap();
    set_options(&[]);
    let ep = create_ep(factory).unwrap();
    // SAFETY: a live provider.
    unsafe {
        assert!((*ep).ort_version_supported < 25);
        ((*factory).ReleaseEp)(factory, ep);
    }
    release(factory);
}

use std::time::Duration;

use kernels::rt::{Cores, TcmUse};

use super::*;

#[test]
fn known_options_are_read() {
    let options =
        Options::parse([("target", "k3"), ("threads", "4"), ("disable_ops", "Conv; Gemm,"), ("report", "r.json")]);
    let options = options.unwrap();
    assert_eq!((options.target, options.threads), (TargetOption::K3, Some(4)));
    assert_eq!(options.disable_ops, ["Conv", "Gemm"]);
    assert_eq!(options.report, Some("r.json".into()));
}

#[test]
fn cores_are_read_in_their_order() {
    let cores = |value| Options::parse([("cores", value)]).unwrap().placement.cores;
    assert_eq!(cores("12;8-10"), Cores::These(vec![12, 8, 9, 10]));
    assert_eq!(cores("inherit"), Cores::Inherit);
    let waits = [("lease_timeout_ms", "5"), ("on_lease_timeout", "fewer"), ("spin_us", "0")];
    let placement = Options::parse(waits).unwrap().placement;
    assert_eq!((placement.lease.wait, placement.lease.fewer), (Duration::from_millis(5), true));
    assert_eq!(placement.spin.idle, Duration::ZERO);
    let tcm = |value| Options::parse([("tcm", value)]).unwrap().placement.tcm;
    assert_eq!((tcm("auto"), tcm("off"), tcm("4096")), (TcmUse::Auto, TcmUse::Off, TcmUse::AtMost(4096)));
}

#[test]
fn few_options_change_later() {
    let before = Options::parse([("threads", "4"), ("claim", "all")]).unwrap();
    let changed = before.changed([("threads", "2"), ("cores", "auto"), ("spin_us", "7")]).unwrap();
    assert_eq!(changed, Options::parse([("threads", "2"), ("claim", "all"), ("spin_us", "7")]).unwrap());
    assert_eq!(before.changed([("SPACEMIT_EP_INTRA_THREAD_NUM", "2")]).unwrap().threads, Some(2));
    for (key, value) in [("claim", "auto"), ("thredas", "2"), ("threads", "0")] {
        let error = before.changed([(key, value)]).unwrap_err();
        assert!(error.to_string().contains(&format!("'{key}'")), "{error}");
    }
}

#[test]
fn kernels_need_a_registry() {
    let mode = |value| Options::parse([("mode", value)]).unwrap().without_kernels();
    assert_eq!(mode("auto").unwrap().mode, ModeOption::Compile);
    assert_eq!(mode("compile").unwrap().mode, ModeOption::Compile);
    assert!(mode("kernels").unwrap_err().to_string().contains("'mode'"));
}

#[test]
fn unknown_keys_and_bad_values_name_the_key() {
    let wrong = [
        ("intra_thread_numm", "2"),
        ("threads", "0"),
        ("threads", "-1"),
        ("threads", "8;x"),
        ("target", "k2"),
        ("report", ""),
        ("profile", ""),
        ("cores", ""),
        ("cores", "8;x"),
        ("preferred_cores", "inherit"),
        ("lease_timeout_ms", "-1"),
        ("on_lease_timeout", "wait"),
        ("spin_us", "2000000"),
        ("tcm", "0"),
        ("mode", "kernel"),
        ("tcm", "yes"),
    ];
    for (key, value) in wrong {
        let error = Options::parse([(key, value)]).unwrap_err();
        assert!(error.to_string().contains(&format!("'{key}'")), "{error}");
    }
}

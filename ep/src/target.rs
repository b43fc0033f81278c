//! What the options mean on a machine.

use kernels::isa::{CoreKind, Machine, physical_cores};
use kernels::rt::Cores;

use crate::options::TargetOption;
use crate::{Error, Options, Target};

/// The target that `options` ask for on `machine`.
///
/// # Errors
/// [`Error::Option`] for cores that do not exist, are of another kind than the target's, or are fewer than `threads`.
pub(crate) fn target(options: &Options, machine: &Machine) -> Result<Target, Error> {
    let target = match options.target {
        TargetOption::Auto => automatic(options, machine),
        TargetOption::Host => Target::host(1),
        TargetOption::K1 => Target::k1(),
        TargetOption::K3 => Target::k3(),
        TargetOption::X100 => Target::x100(),
        TargetOption::Rvv(vlen) => Target::rvv(vlen),
        TargetOption::Scalar => Target::scalar(),
    };
    let refuse = |reason| Err(Error::Option { key: "cores".into(), reason });
    if let Err(reason) = options.placement.check(machine, &target) {
        return refuse(reason);
    }
    let workers = match (&options.placement.cores, options.threads) {
        (Cores::These(cpus), Some(threads)) if threads > cpus.len() => {
            return refuse(format!("{} cores are listed for the {threads} workers of option 'threads'", cpus.len()));
        }
        (_, Some(threads)) => threads,
        (Cores::These(cpus), None) => cpus.len(),
        (_, None) => match machine.cores_of(target.core).count() {
            cores if cores > 0 && target.core != CoreKind::Host => cores,
            _ => physical_cores(),
        },
    };
    Ok(target.with_workers(workers))
}

/// The target of the listed cores, else of the best ones; the host engine on a machine that is no RISC-V.
fn automatic(options: &Options, machine: &Machine) -> Target {
    let listed = match &options.placement.cores {
        Cores::These(cpus) => machine.cores.iter().find(|core| cpus.first() == Some(&core.cpu)),
        Cores::Any | Cores::Inherit => None,
    };
    let target = listed.map(|core| Target::of(core.kind)).or_else(|| machine.target());
    target.unwrap_or(Target::host(1))
}

#[cfg(test)]
mod tests {
    use kernels::isa::Core;

    use super::*;

    /// A machine with these kinds of cores.
    fn machine(kinds: &[CoreKind]) -> Machine {
        let core = |(cpu, &kind): (usize, &CoreKind)| Core { cpu, kind, isa: kind.isa() };
        Machine { cores: kinds.iter().enumerate().map(core).collect() }
    }

    fn k3() -> Machine {
        machine(&[[CoreKind::X100; 8], [CoreKind::A100; 8]].concat())
    }

    fn on(machine: &Machine, options: &[(&str, &str)]) -> Result<Target, Error> {
        target(&Options::parse(options.iter().copied()).unwrap(), machine)
    }

    #[test]
    fn the_best_cores_are_the_automatic_target() {
        let k1 = machine(&[[CoreKind::A60; 4], [CoreKind::X60; 4]].concat());
        assert_eq!(on(&k1, &[]), Ok(Target::k1()));
        assert_eq!(on(&k3(), &[]), Ok(Target::k3()));
        assert_eq!(on(&k3(), &[("threads", "4")]), Ok(Target::k3().with_workers(4)));
        assert_eq!(on(&k3(), &[("cores", "0-3")]), Ok(Target::x100().with_workers(4)));
        let pc = machine(&[CoreKind::Host; 2]);
        assert_eq!(on(&pc, &[]), Ok(Target::host(physical_cores())));
        assert_eq!(on(&pc, &[("target", "k3"), ("cores", "1")]), Ok(Target::k3().with_workers(1)));
        assert_eq!(on(&machine(&[CoreKind::Scalar; 3]), &[]), Ok(Target::scalar().with_workers(3)));
    }

    #[test]
    fn cores_that_do_not_fit_are_named() {
        for (options, named) in [
            (&[("cores", "8-16")][..], "core 16"),
            (&[("target", "k3"), ("cores", "3")], "core 3"),
            (&[("preferred_cores", "99")], "core 99"),
            (&[("cores", "8,9"), ("threads", "3")], "'threads'"),
        ] {
            let error = on(&k3(), options).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("option 'cores'"), "{error}");
        }
    }
}

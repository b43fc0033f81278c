mod names;

use std::path::PathBuf;
use std::time::Duration;

use kernels::rt::{Cores, Placement, TcmUse};
use kernels::sys::CpuSet;

use crate::Error;

/// Which target the provider plans for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetOption {
    /// The machine the provider runs on.
    #[default]
    Auto,
    Host,
    K1,
    K3,
    X100,
    /// A RISC-V machine with vector registers of so many bits.
    Rvv(usize),
    /// A RISC-V machine without vectors.
    Scalar,
}

/// Which groups are claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimOption {
    /// Groups worth their boundary.
    #[default]
    Auto,
    /// Every node that can run.
    All,
}

/// The provider's options; see the README for their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub target: TargetOption,
    /// Threads that run a group; `None` leaves it to the provider.
    pub threads: Option<usize>,
    /// Where the threads run and how they wait.
    pub placement: Placement,
    pub claim: ClaimOption,
    /// Operator types that are left to other providers.
    pub disable_ops: Vec<String>,
    /// Names of nodes that are left to other providers.
    pub disable_nodes: Vec<String>,
    /// Where to write the JSON of claims and declines.
    pub report: Option<PathBuf>,
    /// Folder for the compiled groups as ONNX models.
    pub dump_subgraphs: Option<PathBuf>,
}

/// Most threads that can be asked for.
const MAX_THREADS: usize = 256;
/// A day.
const MAX_LEASE_MS: usize = 86_400_000;
/// More than any chip has.
const MAX_TCM_BYTES: usize = 1 << 30;
/// A second.
const MAX_SPIN_US: usize = 1_000_000;

impl Options {
    /// Reads options from key and value.
    ///
    /// # Errors
    /// [`Error::Option`] for an unknown key or a value that the key does not take.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        Self::parse_with(pairs, |_| None)
    }

    /// Reads options from key and value, and from environment variables, which `environment` knows.
    ///
    /// # Errors
    /// As [`Options::parse`], and when two names of an option disagree.
    pub fn parse_with<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let mut options = Self::default();
        for given in names::gather(pairs, environment)? {
            options.set(&given.key, &given.value).map_err(|reason| Error::Option { key: given.name, reason })?;
        }
        Ok(options)
    }

    /// These options with some of [`DYNAMIC`] changed.
    ///
    /// # Errors
    /// [`Error::Option`] for other keys and for values that a key does not take, and when two names of an option disagree.
    pub(crate) fn changed<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut options = self.clone();
        for given in names::gather(pairs, |_| None)? {
            let outcome = if DYNAMIC.contains(&given.key.as_str()) {
                options.set(&given.key, &given.value)
            } else {
                Err(format!("a session that exists can change {} only", DYNAMIC.join(", ")))
            };
            outcome.map_err(|reason| Error::Option { key: given.name, reason })?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "target" => {
                self.target = choose(
                    value,
                    &[
                        ("auto", TargetOption::Auto),
                        ("host", TargetOption::Host),
                        ("k1", TargetOption::K1),
                        ("k3", TargetOption::K3),
                        ("x100", TargetOption::X100),
                        ("rvv128", TargetOption::Rvv(128)),
                        ("rvv256", TargetOption::Rvv(256)),
                        ("rvv512", TargetOption::Rvv(512)),
                        ("rvv1024", TargetOption::Rvv(1024)),
                        ("scalar", TargetOption::Scalar),
                    ],
                )?;
            }
            "tcm" => {
                self.placement.tcm = match value {
                    "auto" => TcmUse::Auto,
                    "off" => TcmUse::Off,
                    bytes => TcmUse::AtMost(
                        number(bytes, 1, MAX_TCM_BYTES).map_err(|error| format!("{error}, auto or off"))?,
                    ),
                };
            }
            "claim" => self.claim = choose(value, &[("auto", ClaimOption::Auto), ("all", ClaimOption::All)])?,
            "threads" => self.threads = Some(number(value, 1, MAX_THREADS)?),
            "cores" if value == "auto" => self.placement.cores = Cores::Any,
            "cores" if value == "inherit" => self.placement.cores = Cores::Inherit,
            "cores" => self.placement.cores = Cores::These(cpus(value)?),
            "preferred_cores" => self.placement.preferred = cpus(value)?,
            "lease_timeout_ms" => {
                self.placement.lease.wait = Duration::from_millis(number(value, 0, MAX_LEASE_MS)? as u64);
            }
            "on_lease_timeout" => self.placement.lease.fewer = choose(value, &[("error", false), ("fewer", true)])?,
            "spin_us" => self.placement.spin.idle = Duration::from_micros(number(value, 0, MAX_SPIN_US)? as u64),
            "disable_ops" => self.disable_ops = list(value),
            "disable_nodes" => self.disable_nodes = list(value),
            "report" | "dump_subgraphs" if value.is_empty() => return Err("the path is empty".into()),
            "report" => self.report = Some(value.into()),
            "dump_subgraphs" => self.dump_subgraphs = Some(value.into()),
            _ => return Err(format!("unknown; the options are {}", KEYS.join(", "))),
        }
        Ok(())
    }
}

const KEYS: [&str; 13] = [
    "target",
    "threads",
    "cores",
    "preferred_cores",
    "lease_timeout_ms",
    "on_lease_timeout",
    "spin_us",
    "tcm",
    "claim",
    "disable_ops",
    "disable_nodes",
    "report",
    "dump_subgraphs",
];

/// Options that may change while a session exists.
const DYNAMIC: [&str; 3] = ["cores", "threads", "spin_us"];

fn number(value: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("'{value}' is not a number from {least} to {most}"))
}

/// CPUs and ranges of them, in the order given: `8,10` or `8-11`, also with semicolons.
fn cpus(value: &str) -> Result<Vec<usize>, String> {
    let parts = list(value).iter().map(|part| part.parse::<CpuSet>()).collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Err("no CPU is listed".into());
    }
    Ok(parts.iter().flat_map(CpuSet::iter).collect())
}

fn choose<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == value);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        format!("'{value}' is not one of {}", names.join(", "))
    })
}

/// Names separated by commas or semicolons.
fn list(value: &str) -> Vec<String> {
    value.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
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
    fn unknown_keys_and_bad_values_name_the_key() {
        let wrong = [
            ("intra_thread_numm", "2"),
            ("threads", "0"),
            ("threads", "-1"),
            ("threads", "8;x"),
            ("target", "k2"),
            ("report", ""),
            ("cores", ""),
            ("cores", "8;x"),
            ("preferred_cores", "inherit"),
            ("lease_timeout_ms", "-1"),
            ("on_lease_timeout", "wait"),
            ("spin_us", "2000000"),
            ("tcm", "0"),
            ("tcm", "yes"),
        ];
        for (key, value) in wrong {
            let error = Options::parse([(key, value)]).unwrap_err();
            assert!(error.to_string().contains(&format!("'{key}'")), "{error}");
        }
    }
}

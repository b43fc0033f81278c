use std::path::PathBuf;

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

impl Options {
    /// Reads options from key and value.
    ///
    /// # Errors
    /// [`Error::Option`] for an unknown key or a value that the key does not take.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut options = Self::default();
        for (key, value) in pairs {
            options.set(key, value).map_err(|reason| Error::Option { key: key.to_owned(), reason })?;
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
                    ],
                )?;
            }
            "claim" => self.claim = choose(value, &[("auto", ClaimOption::Auto), ("all", ClaimOption::All)])?,
            "threads" => {
                let threads = value.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
                let wrong = || format!("'{value}' is not a number from 1 to {MAX_THREADS}");
                self.threads = Some(threads.ok_or_else(wrong)?);
            }
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

const KEYS: [&str; 7] = ["target", "threads", "claim", "disable_ops", "disable_nodes", "report", "dump_subgraphs"];

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
    fn unknown_keys_and_bad_values_name_the_key() {
        let wrong = [
            ("intra_thread_numm", "2"),
            ("threads", "0"),
            ("threads", "-1"),
            ("threads", "8;x"),
            ("target", "k2"),
            ("report", ""),
        ];
        for (key, value) in wrong {
            let error = Options::parse([(key, value)]).unwrap_err();
            assert!(error.to_string().contains(&format!("'{key}'")), "{error}");
        }
    }
}

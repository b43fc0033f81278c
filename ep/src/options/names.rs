//! Other names of options: environment variables, and the names of other programs for these chips, whose scripts then
//! work here.

use super::KEYS;
use crate::Error;

/// Names of SpacemiT's provider and of ggml's backends with the options that they mean. Values carry over, but for
/// [`DISABLE_TCM`].
const ALIASES: &[(&str, &str)] = &[
    ("SPACEMIT_EP_INTRA_THREAD_NUM", "threads"),
    ("GGML_SPACEMIT_WORKERS", "threads"),
    ("SPACEMIT_EP_INTRA_THREAD_AFFINITY", "cores"),
    ("SPACEMIT_PERFER_CORE_ID", "preferred_cores"),
    ("SPACEMIT_EP_DISABLE_OP_TYPE_FILTER", "disable_ops"),
    ("SPACEMIT_EP_DISABLE_OP_NAME_FILTER", "disable_nodes"),
    (DISABLE_TCM, "tcm"),
];

/// ggml reads every value but 0 as yes.
const DISABLE_TCM: &str = "SPACEMIT_DISABLE_TCM";

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The name that the user knows it by.
    pub name: String,
    pub key: String,
    pub value: String,
}

impl Given {
    fn new(name: &str, value: &str) -> Self {
        let key = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, key)| key);
        let value = match (name, value) {
            (DISABLE_TCM, "0") => "auto",
            (DISABLE_TCM, _) => "off",
            _ => value,
        };
        Self { name: name.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }
}

/// Options given by key, and by the environment: `SPACEMIT_EP_` before the key in capitals, and the aliases. Empty
/// variables count as absent.
///
/// # Errors
/// [`Error::Option`] when two names of an option disagree.
pub(super) fn gather<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Given>, Error> {
    let mut all: Vec<Given> = pairs.into_iter().map(|(name, value)| Given::new(name, value)).collect();
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    for key in KEYS {
        let name = format!("SPACEMIT_EP_{}", key.to_uppercase());
        all.extend(variable(&name).map(|value| Given { name, key: key.to_owned(), value }));
    }
    all.extend(ALIASES.iter().filter_map(|(name, _)| Some(Given::new(name, &variable(name)?))));
    for (index, given) in all.iter().enumerate() {
        let disagrees =
            |other: &&Given| other.key == given.key && other.name != given.name && other.value != given.value;
        if let Some(other) = all[..index].iter().find(disagrees) {
            let reason = format!("'{}' disagrees with {} = '{}'", given.value, other.name, other.value);
            return Err(Error::Option { key: given.name.clone(), reason });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
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
            ("SPACEMIT_PERFER_CORE_ID", "9"),
            ("SPACEMIT_EP_DISABLE_OP_TYPE_FILTER", "Slice;Add"),
            ("SPACEMIT_EP_DISABLE_OP_NAME_FILTER", "n"),
            ("SPACEMIT_DISABLE_TCM", "1"),
        ];
        let ours = [
            ("threads", "2"),
            ("cores", "8-9"),
            ("preferred_cores", "9"),
            ("disable_ops", "Slice,Add"),
            ("disable_nodes", "n"),
            ("tcm", "off"),
        ];
        assert_eq!(options(&theirs, &[]), options(&ours, &[]));
        assert_eq!(options(&[], &theirs), options(&ours, &[]));
        assert_eq!(options(&[], &[("SPACEMIT_DISABLE_TCM", "0")]), options(&[], &[]));
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
        let error = options(&[("threads", "4")], &[("GGML_SPACEMIT_WORKERS", "2")]).unwrap_err().to_string();
        assert!(error.contains("GGML_SPACEMIT_WORKERS") && error.contains("threads = '4'"), "{error}");
    }
}

//! Other names of options: environment variables, and the names of other programs for these chips, whose scripts then
//! work here.

use super::OPTIONS;
use crate::Error;

/// What the names of options begin with as environment variables.
const PREFIX: &str = "SPACEMIT_EP_";

/// Names of SpacemiT's provider and of ggml's backends with the options that they mean; [`translate`] says which values
/// differ.
const ALIASES: &[(&str, &str)] = &[
    ("SPACEMIT_EP_INTRA_THREAD_NUM", "threads"),
    ("GGML_SPACEMIT_WORKERS", "threads"),
    ("SPACEMIT_EP_INTRA_THREAD_AFFINITY", "cores"),
    ("SPACEMIT_PERFER_CORE_ID", "preferred_cores"),
    (GLOBAL_THREADS, "share_threads"),
    ("SPACEMIT_EP_DISABLE_OP_TYPE_FILTER", "disable_ops"),
    ("SPACEMIT_EP_DISABLE_OP_NAME_FILTER", "disable_nodes"),
    (ACCURACY_LEVEL, "accuracy"),
    (DEBUG_PROFILE, "profile"),
    (MEM_BACKEND, "mem_backend"),
    (DISABLE_TCM, "tcm"),
];

const GLOBAL_THREADS: &str = "SPACEMIT_EP_USE_GLOBAL_INTRA_THREAD";
const ACCURACY_LEVEL: &str = "SPACEMIT_EP_DENSE_ACCURACY_LEVEL";
const DEBUG_PROFILE: &str = "SPACEMIT_EP_DEBUG_PROFILE";
const MEM_BACKEND: &str = "SPACEMIT_MEM_BACKEND";
const DISABLE_TCM: &str = "SPACEMIT_DISABLE_TCM";
const DUMP_SUBGRAPHS: &str = "SPACEMIT_EP_DUMP_SUBGRAPHS";

/// Names of SpacemiT's provider that have one possible value here, and why.
const FIXED: &[(&str, &str, &str)] = &[
    ("SPACEMIT_EP_INTER_THREAD_NUM", "1", "the groups of a run follow one another"),
    ("SPACEMIT_EP_DISABLE_FLOAT16_EPILOGUE", "1", "what follows a product is always computed in f32"),
];

/// The value of the option for a value of one of its other names; `None` where that leaves the option alone.
fn translate(name: &str, value: &str) -> Option<String> {
    let own = match (name, value) {
        // Any other value means no, and ggml reads every one but 0 as yes.
        (GLOBAL_THREADS, value) => if value == "1" { "yes" } else { "no" }.into(),
        (DISABLE_TCM, value) => if value == "0" { "auto" } else { "off" }.into(),
        (ACCURACY_LEVEL, "0") => "int8".into(),
        (ACCURACY_LEVEL, "1") => "fp16".into(),
        (ACCURACY_LEVEL, "2") => "fp32".into(),
        (MEM_BACKEND, value) => match value.to_lowercase().as_str() {
            "none" => "posix".into(),
            "hpage" => "hugepage".into(),
            "hpage1gb" => "hugetlb".into(),
            same => same.to_owned(),
        },
        (DEBUG_PROFILE, start) => format!("{start}.json"),
        // A switch there, whose files go into the current folder.
        (DUMP_SUBGRAPHS, "0") => return None,
        (DUMP_SUBGRAPHS, "1") => ".".into(),
        (_, value) => value.to_owned(),
    };
    Some(own)
}

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The name that the user knows it by.
    pub name: String,
    pub key: String,
    pub value: String,
}

impl Given {
    fn new(name: &str, value: &str) -> Option<Self> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, key)| *key);
        let variable = || OPTIONS.iter().map(|row| row.key).find(|key| variable(key) == name);
        let key = alias.or_else(variable).unwrap_or(name).to_owned();
        Some(Self { name: name.to_owned(), key, value: translate(name, value)? })
    }
}

/// The environment variable of an option.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase())
}

/// Options given by key, and by the environment: `SPACEMIT_EP_` before the key in capitals, and the aliases. Empty
/// variables count as absent.
///
/// # Errors
/// [`Error::Option`] when two names of an option disagree, and for a value that is not the possible one.
pub(super) fn gather<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Given>, Error> {
    let mut named: Vec<(String, String)> =
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let own = OPTIONS.iter().map(|row| variable(row.key));
    let others = ALIASES.iter().map(|(name, _)| *name).chain(FIXED.iter().map(|(name, ..)| *name)).map(str::to_owned);
    let variables = own.chain(others).filter_map(|name| environment(&name).map(|value| (name, value)));
    named.extend(variables.filter(|(_, value)| !value.is_empty()));
    let mut all: Vec<Given> = Vec::new();
    for (name, value) in &named {
        if let Some((_, possible, reason)) = FIXED.iter().find(|(fixed, ..)| fixed == name) {
            if value != possible {
                let reason = format!("'{value}' is not possible, only {possible}: {reason}");
                return Err(Error::Option { key: name.clone(), reason });
            }
        } else if let Some(given) = Given::new(name, value) {
            check_agreement(&all, &given)?;
            all.push(given);
        }
    }
    Ok(all)
}

fn check_agreement(earlier: &[Given], given: &Given) -> Result<(), Error> {
    let disagrees = |other: &&Given| other.key == given.key && other.name != given.name && other.value != given.value;
    match earlier.iter().find(disagrees) {
        Some(other) => {
            let reason = format!("'{}' disagrees with {} = '{}'", given.value, other.name, other.value);
            Err(Error::Option { key: given.name.clone(), reason })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

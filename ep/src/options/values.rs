//! Values of options as text.

use kernels::sys::CpuSet;

pub(super) fn number(value: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("'{value}' is not a number from {least} to {most}"))
}

/// CPUs and ranges of them, in the order given: `8,10` or `8-11`, also with semicolons.
pub(super) fn cpus(value: &str) -> Result<Vec<usize>, String> {
    let parts = list(value).iter().map(|part| part.parse::<CpuSet>()).collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Err("no CPU is listed".into());
    }
    Ok(parts.iter().flat_map(CpuSet::iter).collect())
}

pub(super) fn choose<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == value);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        format!("'{value}' is not one of {}", names.join(", "))
    })
}

/// Names separated by commas or semicolons.
pub(super) fn list(value: &str) -> Vec<String> {
    value.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

pub(super) fn path(value: &str) -> Result<Option<std::path::PathBuf>, String> {
    if value.is_empty() { Err("the path is empty".into()) } else { Ok(Some(value.into())) }
}

//! Checks the licence of every dependency against the list in `deny.toml`.

use std::fs;
use std::process::Command;

use spdx::{Expression, ParseMode};

use crate::{Result, process, workspace};

/// Fails with the names of the crates whose licence the list does not allow.
pub fn check() -> Result<()> {
    let allowed = allowed()?;
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(workspace::root());
    tree.args(["tree", "--workspace", "--target", "all", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"]);
    let listing = process::output(&mut tree)?;
    let mut crates: Vec<&str> = listing.lines().filter(|line| line.contains('|')).collect();
    crates.sort_unstable();
    crates.dedup();
    let refused: Vec<&str> = crates.iter().copied().filter(|line| !is_allowed(line, &allowed)).collect();
    println!("{} crates, {} with a licence that deny.toml does not allow", crates.len(), refused.len());
    if refused.is_empty() { Ok(()) } else { Err(format!("not allowed:\n{}", refused.join("\n"))) }
}

fn allowed() -> Result<Vec<String>> {
    let path = workspace::root().join("deny.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let list = table.get("licenses").and_then(|section| section.get("allow")).and_then(toml::Value::as_array);
    let names = list.ok_or("deny.toml: licenses.allow is not a list")?;
    Ok(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// `line` is a package and its SPDX expression with `|` between them.
fn is_allowed(line: &str, allowed: &[String]) -> bool {
    let (_, licence) = line.split_once('|').unwrap_or((line, ""));
    Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(|requirement| allowed.contains(&requirement.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned()];
        for good in ["a|MIT", "a|MIT OR GPL-3.0-only", "a|MIT/Apache-2.0", "a|(MIT OR Zlib) AND Apache-2.0"] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["a|", "a", "a|GPL-3.0-only", "a|MIT AND GPL-3.0-only", "a|Apache-2.0 WITH LLVM-exception"] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}

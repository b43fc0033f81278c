use super::*;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const HEAD: &str = "| option | values | default | meaning |\n|---|---|---|---|\n";

fn rows() -> String {
    let star = |row: &OptionRow| if row.dynamic { "*" } else { "" };
    let line = |row: &OptionRow| {
        format!("| `{}`{} | {} | {} | {} |\n", row.key, star(row), row.values, row.default, row.meaning)
    };
    OPTIONS.iter().map(line).collect()
}

/// Rewrites the table when the environment has `UPDATE_DOCS`.
#[test]
fn docs_of_options_are_those_of_the_table() {
    let readme = std::fs::read_to_string(README).unwrap();
    let (before, rest) = readme.split_once(HEAD).expect("the README has the head of the table");
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(README, format!("{before}{HEAD}{}{}", rows(), &rest[end..])).unwrap();
    } else {
        assert_eq!(&rest[..end], rows(), "write it again with UPDATE_DOCS=1 cargo test -p ep docs");
    }
}

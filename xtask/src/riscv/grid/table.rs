use std::collections::BTreeMap;
use std::fmt;

use super::VLENS;
use crate::Result;

const HEAD: &str = "# Micro-kernels

Which are tested at which length of the vector registers, in bits: 256 is K1, 1024 the matrix cores of K3. Every tested
kernel ran its whole grid of shapes in QEMU between guard pages, with tail and masked-off elements overwritten by ones and
the shortest vectors that `vsetvl` may answer. An empty field is a length for which the kernel is not made.

";

const PASSED: &str = "yes";

/// Kernels by family and name: what they need, and where they passed.
#[derive(Default)]
pub struct Table(BTreeMap<(String, String), Row>);

#[derive(Default)]
struct Row {
    needs: String,
    passed: [bool; VLENS.len()],
}

impl Table {
    /// Reads a document of [`Table::fmt`]; other lines are passed over.
    pub fn parse(document: &str) -> Self {
        let rows = document.lines().filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split('|').map(str::trim).collect();
            let [family, name, needs, passed @ ..] = cells.as_slice() else { return None };
            let passed: Vec<bool> = passed.iter().map(|cell| *cell == PASSED).collect();
            let unquoted = |cell: &str| cell.trim_matches('`').to_owned();
            let row = Row { needs: (*needs).to_owned(), passed: passed.try_into().ok()? };
            family.starts_with('`').then(|| ((unquoted(family), unquoted(name)), row))
        });
        Self(rows.collect())
    }

    /// Replaces the column of `vlen` by the lines that the tests at this length printed.
    ///
    /// # Errors
    /// No line, or lines of another length.
    pub fn renew(&mut self, vlen: usize, printed: &str) -> Result<()> {
        let column = VLENS.iter().position(|&one| one == vlen).ok_or_else(|| format!("no column for VLEN {vlen}"))?;
        let mut old = std::mem::take(&mut self.0);
        for line in printed.lines().filter_map(|line| line.strip_prefix("grid ")) {
            let words: Vec<&str> = line.splitn(5, ' ').collect();
            let [family, name, length, result, needs] = words.as_slice() else {
                return Err(format!("the tests printed a line that is not understood: grid {line}"));
            };
            if *length != format!("vlen={vlen}") {
                return Err(format!("the tests ran at another length than {vlen}: grid {line}"));
            }
            let key = ((*family).to_owned(), (*name).to_owned());
            let mut row = self.0.remove(&key).or_else(|| old.remove(&key)).unwrap_or_default();
            row.needs = needs.trim_start_matches("needs ").to_owned();
            row.passed[column] = *result == "passed";
            self.0.insert(key, row);
        }
        if self.0.is_empty() { Err("the tests printed no line of a kernel".into()) } else { Ok(()) }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = VLENS.map(|vlen| format!(" {vlen} |")).concat();
        writeln!(f, "{HEAD}| family | kernel | needs |{heads}\n|---|---|---|{}", ":-:|".repeat(VLENS.len()))?;
        for ((family, name), Row { needs, passed }) in &self.0 {
            let cells = passed.map(|passed| format!(" {} |", if passed { PASSED } else { " " })).concat();
            writeln!(f, "| `{family}` | `{name}` | {needs} |{cells}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "running 3 tests\ngrid transpose rvv_8 vlen=256 passed needs RVV, VLEN 128 or more\n\
                           grid matmul ime2 vlen=256 absent needs IME2, VLEN 1024\ntest result: ok.";

    #[test]
    fn a_document_keeps_the_other_columns() {
        let mut table = Table::default();
        table.renew(256, PRINTED).unwrap();
        table.renew(128, &PRINTED.replace("vlen=256", "vlen=128")).unwrap();
        let document = table.to_string();
        assert!(
            document.contains("| `transpose` | `rvv_8` | RVV, VLEN 128 or more | yes | yes |   |   |"),
            "{document}"
        );
        assert!(document.contains("| `matmul` | `ime2` | IME2, VLEN 1024 |   |   |   |   |"), "{document}");
        assert_eq!(Table::parse(&document).to_string(), document);
        table.renew(256, &PRINTED.replace("passed", "absent")).unwrap();
        assert!(table.to_string().contains("| RVV, VLEN 128 or more | yes |   |   |   |"), "{table}");
    }

    #[test]
    fn a_kernel_of_two_tests_keeps_its_columns() {
        let mut table = Table::default();
        table.renew(256, PRINTED).unwrap();
        table.renew(128, &format!("{PRINTED}\n{PRINTED}").replace("vlen=256", "vlen=128")).unwrap();
        assert!(table.to_string().contains("| RVV, VLEN 128 or more | yes | yes |   |   |"), "{table}");
    }

    #[test]
    fn kernels_that_are_gone_leave_the_document() {
        let mut table = Table::default();
        table.renew(256, PRINTED).unwrap();
        table.renew(128, "grid matmul ime2 vlen=128 absent needs IME2, VLEN 1024").unwrap();
        assert!(!table.to_string().contains("rvv_8"));
    }

    #[test]
    fn lines_of_another_run_are_refused() {
        assert!(Table::default().renew(128, PRINTED).is_err());
        assert!(Table::default().renew(256, "running 0 tests").is_err());
        assert!(Table::default().renew(256, "grid matmul ime2").is_err());
    }
}

//! `cargo xtask riscv cycles --choose`: every variant of a product at the shapes of real models, and whether plans take the best.

use std::collections::BTreeMap;

use super::item::Item;
use super::{SETTINGS, Setting};
use crate::Result;

/// How much longer than the best a choice may take.
const TOLERANCE: f64 = 1.1;

/// Cycles of the variants of a product.
#[derive(Default)]
struct Product<'a> {
    cycles: BTreeMap<&'a str, f64>,
    chosen: &'a str,
}

/// The products of a setting by name, which is `FAMILY_SHAPE`.
fn products(items: &[Item]) -> BTreeMap<&str, Product<'_>> {
    let mut products = BTreeMap::<&str, Product<'_>>::new();
    for item in items {
        let Some((name, variant)) = item.name.split_once(':') else { continue };
        let product = products.entry(name).or_default();
        let plain = variant.trim_end_matches('*');
        product.cycles.insert(plain, item.cycles());
        if plain != variant {
            product.chosen = plain;
        }
    }
    products
}

/// Prints a line for each product of each setting, the choice with a star.
///
/// # Errors
/// The products of which a variant is more than a tenth faster than the choice, for A100 by both readings of its loads.
pub fn judge(measured: &[(&Setting, Vec<Item>)]) -> Result<()> {
    let mut faults = BTreeMap::<(&str, &str, &str), usize>::new();
    for (setting, items) in measured {
        println!("\n{}: cycles of each variant", setting.name);
        for (name, Product { cycles, chosen }) in products(items) {
            let own = cycles.get(chosen).copied().unwrap_or(f64::INFINITY);
            let star = |variant: &str| if variant == chosen { "*" } else { "" };
            let cells = cycles.iter().map(|(variant, cycles)| format!("{variant}{} {cycles:.0}", star(variant)));
            println!("{name:20} {}", cells.collect::<Vec<_>>().join("   "));
            for (variant, _) in cycles.iter().filter(|(_, cycles)| own > TOLERANCE * **cycles) {
                *faults.entry((setting.cpu, name, variant)).or_default() += 1;
            }
        }
    }
    let readings = |cpu: &str| measured.iter().filter(|(setting, _)| setting.cpu == cpu).count();
    let certain = faults.iter().filter(|((cpu, ..), count)| **count == readings(cpu));
    let told = certain.map(|((cpu, name, variant), _)| {
        let chip = SETTINGS.iter().find(|setting| setting.cpu == *cpu).map_or("", |setting| setting.name);
        format!("{chip} {name}: {variant} is more than a tenth faster than the choice")
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { Ok(()) } else { Err(told.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::super::item::read;
    use super::*;

    fn items(own: u32, other: u32) -> Vec<Item> {
        let printed = "item int8_1x2x3:ime2* 6 mac\nitem int8_1x2x3:rvv 6 mac\n";
        read(printed, &format!("cycles=9\ncycles={own}\ncycles=9\ncycles={other}\n")).unwrap()
    }

    #[test]
    fn a_choice_that_is_behind_by_every_reading_is_a_fault() {
        let judged = |slow: u32, other: u32| {
            judge(&[
                (&SETTINGS[0], items(100, 100)),
                (&SETTINGS[1], items(slow, 100)),
                (&SETTINGS[2], items(other, 100)),
            ])
        };
        assert!(judged(109, 300).is_ok() && judged(300, 100).is_ok());
        let error = judged(111, 120).unwrap_err();
        assert!(error.starts_with("K3 int8_1x2x3: rvv is more"), "{error}");
    }
}

use std::collections::{HashMap, HashSet};

use super::*;
use crate::isa::Engine;

fn check<F: Family<Spec = MatMulSpec>>(rows: &[Variant<F>]) {
    let mut names = HashSet::new();
    let mut groups = HashMap::new();
    for row in rows {
        let MatMulSpec { tile, block: BlockShape { m, n, k }, layout } = row.spec;
        let engine = format!("{:?}", row.needs.engine).to_lowercase();
        let name = format!("{engine}_{m}x{n}x{k}");
        assert!(row.name == name || row.name.starts_with(&format!("{name}_")), "{} of {}", row.name, F::NAME);
        assert!(names.insert(row.name), "{} has two rows {}", F::NAME, row.name);
        let divides = |block: usize, tile: usize| block.is_multiple_of(tile) && block > 0;
        assert!(divides(m, tile.m) && divides(n, tile.n) && divides(k, tile.k), "{}", row.name);
        assert!(
            divides(layout.panel(), tile.n) && layout.k_group() == tile.k,
            "the layout of {} follows its tile",
            row.name
        );
        assert_eq!(*groups.entry(layout).or_insert(tile.k), tile.k, "one depth a layout: {}", row.name);
    }
    for layout in groups.keys() {
        let twins = rows.iter().filter(|row| row.spec.layout == *layout && row.needs.engine == Engine::Scalar);
        assert_eq!(twins.count(), 1, "{} of {layout} has one scalar twin", F::NAME);
    }
}

#[test]
fn names_match_rows_and_every_layout_has_a_twin() {
    check(MATMUL_F32_F32_F32);
    check(MATMUL_F16_F16_F32);
    check(MATMUL_BIAS_F16_F16_F32);
    check(MATMUL_U8_I8_F32);
    check(MATMUL_U8_I8_I32);
    check(MATMUL_NBITS);
    check(MATVEC_NBITS);
}

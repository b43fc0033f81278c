//! The list of all micro-kernels. Tests, benchmarks, selection and documentation read these rows.

use crate::isa::{BlockShape, CoreKind, Engine, TileShape};
use crate::pack::PackLayout;
use crate::ukr::matmul_f32_f32_f32::{self as f32_f32_f32, MatMulF32F32F32};
use crate::ukr::matmul_u8_i8_i32::{self as u8_i8_i32, MatMulU8I8I32};

/// Micro-kernels that take the same arguments.
pub trait Family: 'static {
    type Args;
    /// Name of the folder, `<op>_<lhs>_<rhs>_<out>`.
    const NAME: &'static str;
}

/// One micro-kernel as data. It can be read on every machine; running it needs a core of its kind.
pub struct Variant<F: Family> {
    /// `<engine>_<block m>x<n>x<k>`
    pub name: &'static str,
    pub engine: Engine,
    pub tile: TileShape,
    pub block: BlockShape,
    /// Order of the right-hand side.
    pub layout: PackLayout,
    /// Kinds of cores that have its instructions.
    pub cores: &'static [CoreKind],
    /// Unsafe: the contract of `F::Args`, on a core of one of these kinds.
    pub run: unsafe fn(&F::Args),
}

impl<F: Family> Variant<F> {
    /// Whether this process may call it.
    pub fn runs_here(&self) -> bool {
        self.engine == Engine::Scalar
    }
}

const ANY: &[CoreKind] = &[CoreKind::X60, CoreKind::A60, CoreKind::X100, CoreKind::A100, CoreKind::Host];

/// Within a layout, the fastest first and the scalar twin last.
pub static MATMUL_F32_F32_F32: &[Variant<MatMulF32F32F32>] = &[Variant {
    name: "scalar_4x32x1",
    engine: Engine::Scalar,
    tile: TileShape { m: 1, n: 32, k: 1 },
    block: BlockShape { m: 4, n: 32, k: 1 },
    layout: PackLayout::F32P32X1,
    cores: ANY,
    run: f32_f32_f32::scalar::run::<32>,
}];

/// Within a layout, the fastest first and the scalar twin last.
pub static MATMUL_U8_I8_I32: &[Variant<MatMulU8I8I32>] = &[
    Variant {
        name: "scalar_12x16x8",
        engine: Engine::Scalar,
        tile: TileShape { m: 4, n: 4, k: 8 },
        block: BlockShape { m: 12, n: 16, k: 8 },
        layout: PackLayout::I8P4X8,
        cores: ANY,
        run: u8_i8_i32::scalar::run::<4, 4, 8>,
    },
    Variant {
        name: "scalar_16x32x16",
        engine: Engine::Scalar,
        tile: TileShape { m: 8, n: 8, k: 16 },
        block: BlockShape { m: 16, n: 32, k: 16 },
        layout: PackLayout::I8P8X16,
        cores: ANY,
        run: u8_i8_i32::scalar::run::<8, 8, 16>,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn check<F: Family>(rows: &[Variant<F>]) {
        let mut names = HashSet::new();
        let mut tiles = std::collections::HashMap::new();
        for row in rows {
            let BlockShape { m, n, k } = row.block;
            let engine = format!("{:?}", row.engine).to_lowercase();
            assert_eq!(row.name, format!("{engine}_{m}x{n}x{k}"), "{}", F::NAME);
            assert!(names.insert(row.name), "{} has two rows {}", F::NAME, row.name);
            let divides = |block: usize, tile: usize| block.is_multiple_of(tile) && block > 0;
            assert!(divides(m, row.tile.m) && divides(n, row.tile.n) && divides(k, row.tile.k), "{}", row.name);
            let (panel, group) = (row.layout.panel(), row.layout.k_group());
            assert_eq!((row.tile.n, row.tile.k), (panel, group), "the layout of {} follows its tile", row.name);
            assert_eq!(*tiles.entry(row.layout).or_insert(row.tile), row.tile, "one tile a layout: {}", row.name);
        }
        for layout in tiles.keys() {
            let twins = rows.iter().filter(|row| row.layout == *layout && row.engine == Engine::Scalar);
            assert_eq!(twins.count(), 1, "{} of {layout} has one scalar twin", F::NAME);
        }
    }

    #[test]
    fn names_match_rows_and_every_layout_has_a_twin() {
        check(MATMUL_F32_F32_F32);
        check(MATMUL_U8_I8_I32);
    }
}

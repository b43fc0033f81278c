/// `smt.vmadot vd, vs1, vs2`: signed `A` times signed `B`, added to the pair `vd`.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 3, 0x71, x", $d, ", x", $a, ", x", $b, "\n")
    };
}

pub(super) use dot;

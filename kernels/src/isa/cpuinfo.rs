//! What `/proc/cpuinfo` and the device tree tell of RISC-V cores, for kernels without `riscv_hwprobe(2)`.

use crate::sys::HwProbe;

/// The block of one CPU in `/proc/cpuinfo` as `riscv_hwprobe(2)` would answer; `None` when there is none, or when it
/// names no RISC-V instruction set.
pub(super) fn hwprobe(text: &str, cpu: usize) -> Option<HwProbe> {
    let block = text.split("\n\n").find(|block| field(block, "processor") == Some(cpu.to_string().as_str()))?;
    // From Linux 6.7 on `isa` is what all harts have and `hart isa` what this one has.
    let isa = field(block, "hart isa").or_else(|| field(block, "isa"))?;
    let number = |name| field(block, name).and_then(parse_hex).unwrap_or(0);
    Some(HwProbe {
        vendor: number("mvendorid"),
        arch: number("marchid"),
        extensions: extensions(isa),
        ..HwProbe::default()
    })
}

/// The value of a line `name : value`.
fn field<'t>(block: &'t str, name: &str) -> Option<&'t str> {
    let lines = block.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn parse_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The extensions of an ISA string such as `rv64imafdcv_zicbom_zvfh` as bits of [`HwProbe`].
fn extensions(isa: &str) -> u64 {
    let mut parts = isa.split('_');
    let single = parts.next().and_then(|first| first.strip_prefix("rv64")).unwrap_or_default();
    let vector = if single.contains('v') { HwProbe::V } else { 0 };
    let zvfh = if parts.any(|part| part == "zvfh") { HwProbe::ZVFH } else { 0 };
    vector | zvfh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::machine::{SPACEMIT, X60};

    /// The first lines of two blocks as Linux 6.6 writes them on a K1.
    const K1: &str = "processor\t: 0\nhart\t\t: 0\nmodel name\t: Spacemit(R) X60\n\
        isa\t\t: rv64imafdcv_zicbom_zicboz_zfh_zvfh_zvkt\nmmu\t\t: sv39\nuarch\t\t: spacemit,x60\n\
        mvendorid\t: 0x710\nmarchid\t\t: 0x8000000058000001\nmimpid\t\t: 0x1000000049772200\n\n\
        processor\t: 1\nhart\t\t: 1\nisa\t\t: rv64imafdc_zicbom\nhart isa\t: rv64imafdcv\n\
        mvendorid\t: 0x710\nmarchid\t\t: 0x8000000058000001\n\n";

    #[test]
    fn blocks_are_read_by_processor() {
        let both = HwProbe::V | HwProbe::ZVFH;
        assert_eq!(hwprobe(K1, 0), Some(HwProbe { vendor: SPACEMIT, arch: X60, extensions: both, zero_block: 0 }));
        assert_eq!(
            hwprobe(K1, 1),
            Some(HwProbe { vendor: SPACEMIT, arch: X60, extensions: HwProbe::V, zero_block: 0 })
        );
        assert_eq!(hwprobe(K1, 2), None);
    }

    #[test]
    fn other_processors_and_broken_text_tell_nothing() {
        let x86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme\n\n";
        for text in ["", "\n\n", ":", x86, "processor\t: 0\nisa\t\t\n"] {
            assert_eq!(hwprobe(text, 0), None, "{text:?}");
        }
        let plain = "processor: 0\nisa: rv64imafdc\nmarchid: 12\n";
        assert_eq!(hwprobe(plain, 0), Some(HwProbe::default()));
    }
}

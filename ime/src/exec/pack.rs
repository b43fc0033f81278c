//! The instructions that rearrange data.

use crate::control::Control;
use crate::core::Core;
use crate::insn::PackKind;
use crate::regs::VRegs;

/// Bytes that a block takes from one source.
///
/// The specification's length is that, but for `vnpack4` and `vnspack4` it is taken as the length of what is
/// written: its pseudo-code would write past the destination, and known kernels need this reading.
pub fn block_bytes(kind: PackKind, size: u8, control: Control) -> usize {
    match (kind, size) {
        (PackKind::Pack | PackKind::Unpack, 0) => control.vtype.element_bytes(),
        (PackKind::Pack | PackKind::Unpack, _) => 8 << size,
        (PackKind::Narrow | PackKind::NarrowSaturate, _) => 4 << size,
        (PackKind::Narrow4 | PackKind::NarrowSaturate4, _) => 8 << size,
    }
}

/// The bytes of both sources, vs2 after vs1.
pub struct Sources {
    bytes: [u8; 2 * Core::MAX_VLENB],
    vlenb: usize,
}

impl Sources {
    pub fn load(core: Core, registers: &VRegs<'_>, vs1: u8, vs2: u8) -> Sources {
        let vlenb = core.vlenb();
        let mut bytes = [0; 2 * Core::MAX_VLENB];
        bytes[..vlenb].copy_from_slice(registers.group(vs1, 1));
        bytes[vlenb..2 * vlenb].copy_from_slice(registers.group(vs2, 1));
        Sources { bytes, vlenb }
    }

    /// Fills `destination`, taking blocks of `block` bytes with elements of `element` bytes.
    pub fn pack(&self, kind: PackKind, block: usize, element: usize, destination: &mut [u8]) {
        match kind {
            PackKind::Pack => self.interleave(block, block, destination, <[u8]>::copy_from_slice),
            PackKind::Unpack => self.separate(block, destination),
            PackKind::Narrow => self.interleave(block, block / 2, destination, |to, from| {
                narrow(element, to, from, |wide| wide);
            }),
            PackKind::NarrowSaturate => self.interleave(block, block / 2, destination, |to, from| {
                let limit = 1 << (8 * element - 1);
                narrow(element, to, from, |wide| wide.clamp(-limit, limit - 1));
            }),
            // Sources of the 4-bit forms are bytes, whatever the vector type says.
            PackKind::Narrow4 => self.interleave(block, block / 2, destination, |to, from| {
                narrow4(to, from, |byte| byte);
            }),
            PackKind::NarrowSaturate4 => self.interleave(block, block / 2, destination, |to, from| {
                narrow4(to, from, |byte| byte.clamp(-8, 7));
            }),
        }
    }

    /// Fills blocks of `written` bytes, in turn from blocks of `read` bytes of the first and the second source.
    fn interleave(&self, read: usize, written: usize, destination: &mut [u8], convert: impl Fn(&mut [u8], &[u8])) {
        let (first, second) = self.bytes[..2 * self.vlenb].split_at(self.vlenb);
        let sources = first.chunks_exact(read).zip(second.chunks_exact(read));
        for (to, (first, second)) in destination.chunks_exact_mut(2 * written).zip(sources) {
            convert(&mut to[..written], first);
            convert(&mut to[written..], second);
        }
    }

    /// Even blocks go to the first register, odd ones to the second.
    fn separate(&self, block: usize, destination: &mut [u8]) {
        let (even, odd) = destination.split_at_mut(self.vlenb);
        let to = even.chunks_exact_mut(block).zip(odd.chunks_exact_mut(block));
        for (from, (even, odd)) in self.bytes.chunks_exact(2 * block).zip(to) {
            even.copy_from_slice(&from[..block]);
            odd.copy_from_slice(&from[block..]);
        }
    }
}

/// Signed elements of 2 * `element` bytes, through `clip`, to their low halves.
fn narrow(element: usize, to: &mut [u8], from: &[u8], clip: impl Fn(i64) -> i64) {
    for (to, from) in to.chunks_exact_mut(element).zip(from.chunks_exact(2 * element)) {
        let mut bytes = [0; 8];
        bytes[8 - from.len()..].copy_from_slice(from);
        let wide = i64::from_le_bytes(bytes) >> (64 - 8 * from.len());
        to.copy_from_slice(&clip(wide).to_le_bytes()[..element]);
    }
}

/// Signed bytes, through `clip`, to nibbles, the low half of a byte first.
fn narrow4(to: &mut [u8], from: &[u8], clip: impl Fn(i8) -> i8) {
    for (to, &[low, high]) in to.iter_mut().zip(from.as_chunks::<2>().0) {
        *to = clip(low as i8) as u8 & 15 | (clip(high as i8) as u8) << 4;
    }
}

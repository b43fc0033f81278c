//! The vector registers.

use crate::core::Core;

/// The bytes of v0 to v31, one register after the other.
pub struct VRegs<'a> {
    bytes: &'a mut [u8],
    vlenb: usize,
}

impl<'a> VRegs<'a> {
    /// Takes the registers of `core` from the first 32 * vlenb bytes. Panics when there are fewer.
    pub fn new(core: Core, bytes: &'a mut [u8]) -> VRegs<'a> {
        let vlenb = core.vlenb();
        VRegs { bytes: &mut bytes[..32 * vlenb], vlenb }
    }

    /// The bytes of `count` registers from `first` on.
    pub fn group(&self, first: u8, count: u8) -> &[u8] {
        &self.bytes[first as usize * self.vlenb..][..count as usize * self.vlenb]
    }

    /// The bytes of `count` registers from `first` on, to be changed.
    pub fn group_mut(&mut self, first: u8, count: u8) -> &mut [u8] {
        &mut self.bytes[first as usize * self.vlenb..][..count as usize * self.vlenb]
    }
}

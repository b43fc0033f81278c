//! QEMU's plugin interface as far as it is used, and its registers.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

#[repr(C)]
pub struct GArray {
    data: *mut u8,
    len: c_uint,
}

#[repr(C)]
pub struct GByteArray {
    data: *mut u8,
    len: c_uint,
}

#[repr(C)]
struct RegisterDescriptor {
    handle: *mut c_void,
    name: *const c_char,
    feature: *const c_char,
}

pub type ExecCallback = extern "C" fn(c_uint, *mut c_void);
pub type MemoryCallback = extern "C" fn(c_uint, u32, u64, *mut c_void);

pub const READS_REGISTERS: c_int = 1;
pub const LOADS_AND_STORES: c_int = 3;

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: u64, callback: extern "C" fn(u64, c_uint));
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: extern "C" fn(u64, *mut c_void));
    pub fn qemu_plugin_register_atexit_cb(id: u64, callback: extern "C" fn(u64, *mut c_void), data: *mut c_void);
    pub fn qemu_plugin_tb_n_insns(block: *const c_void) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const c_void, index: usize) -> *mut c_void;
    pub fn qemu_plugin_insn_data(insn: *const c_void, data: *mut c_void, len: usize) -> usize;
    pub fn qemu_plugin_insn_size(insn: *const c_void) -> usize;
    pub fn qemu_plugin_insn_vaddr(insn: *const c_void) -> u64;
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut c_void,
        callback: ExecCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut c_void,
        callback: MemoryCallback,
        flags: c_int,
        kind: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: u32) -> bool;
    pub fn qemu_plugin_get_registers() -> *mut GArray;
    pub fn qemu_plugin_read_register(handle: *mut c_void, value: *mut GByteArray) -> c_int;
    fn qemu_plugin_read_memory_vaddr(address: u64, value: *mut GByteArray, len: usize) -> bool;
    pub fn g_byte_array_new() -> *mut GByteArray;
    pub fn g_byte_array_free(array: *mut GByteArray, free: c_int) -> *mut u8;
    pub fn g_array_free(array: *mut GArray, free: c_int) -> *mut c_char;
}

const ABI_NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// QEMU's handles of x0 to x31 and vtype. They are the same for all threads.
pub struct Registers {
    pub x: [usize; 32],
    pub vtype: usize,
}

impl Registers {
    pub const NONE: Self = Self { x: [0; 32], vtype: 0 };

    /// # Safety
    /// In the callback for a new thread.
    pub unsafe fn list() -> Self {
        let mut registers = Self::NONE;
        // SAFETY: the caller's promise; the names are C strings that live on.
        unsafe {
            let list = qemu_plugin_get_registers();
            let descriptors =
                std::slice::from_raw_parts((*list).data.cast::<RegisterDescriptor>(), (*list).len as usize);
            for descriptor in descriptors {
                let name = CStr::from_ptr(descriptor.name).to_string_lossy();
                let number = name.strip_prefix('x').and_then(|digits| digits.split('/').next()?.parse::<usize>().ok());
                match (number, ABI_NAMES.iter().position(|known| name.split('/').next() == Some(known))) {
                    (Some(number), _) | (None, Some(number)) => registers.x[number & 31] = descriptor.handle as usize,
                    _ if name == "vtype" => registers.vtype = descriptor.handle as usize,
                    _ => (),
                }
            }
            g_array_free(list, 1);
        }
        registers
    }
}

/// The value of a register, of which `handle` is QEMU's.
///
/// # Safety
/// In a callback that was registered with [`READS_REGISTERS`].
pub unsafe fn read(handle: usize) -> u64 {
    let mut value = [0; 8];
    // SAFETY: the handle is one that QEMU gave, and the array is freed after its last use.
    unsafe {
        let array = g_byte_array_new();
        let len = qemu_plugin_read_register(handle as *mut c_void, array);
        let len = usize::try_from(len).unwrap_or(0).min(8);
        value[..len].copy_from_slice(std::slice::from_raw_parts((*array).data, len));
        g_byte_array_free(array, 1);
    }
    u64::from_le_bytes(value)
}

/// Bytes of the program's memory; none where it has no such memory.
///
/// # Safety
/// In a callback that QEMU calls for an instruction.
pub unsafe fn read_memory(address: u64, len: usize) -> Vec<u8> {
    // SAFETY: the caller's promise, and the array is freed after its last use.
    unsafe {
        let array = g_byte_array_new();
        let is_there = qemu_plugin_read_memory_vaddr(address, array, len);
        let bytes = if is_there { std::slice::from_raw_parts((*array).data, len).to_vec() } else { Vec::new() };
        g_byte_array_free(array, 1);
        bytes
    }
}

//! The boundary of the model `cycles` to QEMU: its plugin interface, version 4.
//!
//! Arguments: `core=x60|a100`, `out=FILE`, `loads=stalling`, `matrix=shared` for the options, and `hotspots=FILE` for where the
//! cycles of the last region went. The program marks with
//! `xori zero, zero, N`: 1 begins a region and 2 ends it, 3 empties the first cache and 4 both. QEMU knows no matrix
//! instructions: after 5, with the address and the number of some in a0 and a1, `lui zero, I` stands for the one at index I.
//! After 6 the scratchpad is at the address in a0, with the bytes in a1.

#![cfg(all(target_os = "linux", not(test)))]

mod qemu;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cycles::core::{Core, Options};
use cycles::decode::decode;
use cycles::hotspots::Hotspots;
use cycles::insn::{Class, VType};
use cycles::machine::{Machine, Placed};
use qemu::*;

/// The version of the interface.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 4;

/// An instruction as its callbacks get it.
struct Site {
    placed: Placed,
    /// N of a mark.
    mark: Option<u32>,
    /// The base register of an instruction on a line, and what is added to it.
    line: Option<(usize, i64)>,
}

struct State {
    machine: Machine,
    out: String,
    hotspots: Option<String>,
    registers: Registers,
    /// The instructions that `lui zero` stands for.
    stand_ins: Vec<u32>,
    /// The thread whose region is open.
    thread: c_uint,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// Whether a region is open.
static OPEN: AtomicBool = AtomicBool::new(false);

fn with_state(use_it: impl FnOnce(&mut State)) {
    if let Some(state) = STATE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        use_it(state);
    }
}

extern "C" fn on_thread(_id: u64, _thread: c_uint) {
    // SAFETY: QEMU lets this callback list the registers.
    let registers = unsafe { Registers::list() };
    with_state(|state| state.registers = registers);
}

extern "C" fn on_translation(_id: u64, block: *mut c_void) {
    let mut after_vset = true;
    // SAFETY: `block` and its instructions are QEMU's, valid in this callback. The sites are never freed, as QEMU may execute
    // them until the end.
    unsafe {
        for index in 0..qemu_plugin_tb_n_insns(block) {
            let insn = qemu_plugin_tb_get_insn(block, index);
            let pc = qemu_plugin_insn_vaddr(insn);
            let (mut word, bytes) = (0u32, qemu_plugin_insn_size(insn));
            qemu_plugin_insn_data(insn, (&raw mut word).cast(), bytes.min(4));
            with_state(|state| word = state.meant(word));
            let site = site(pc, bytes as u64, word);
            let class = site.placed.insn.class;
            let reads = after_vset || site.mark.is_some() || site.line.is_some();
            let touches = class.is_vector_memory() || matches!(class, Class::Load | Class::Store | Class::Atomic);
            let data: *mut c_void = Box::into_raw(Box::new(site)).cast();
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_execution, if reads { READS_REGISTERS } else { 0 }, data);
            if touches {
                qemu_plugin_register_vcpu_mem_cb(insn, on_access, 0, LOADS_AND_STORES, data);
            }
            after_vset = class == Class::VSet;
        }
    }
}

fn site(pc: u64, bytes: u64, word: u32) -> Site {
    let insn = decode(word);
    let mark = (word & 0xfffff == 0x04013).then_some(word >> 20);
    let base = (word >> 15 & 31) as usize;
    let line = match insn.class {
        Class::Prefetch => Some((base, i64::from((word & 0xfe00_0000) as i32 >> 20))),
        Class::Zero => Some((base, 0)),
        _ => None,
    };
    Site { placed: Placed { pc, bytes, insn }, mark, line }
}

extern "C" fn on_execution(thread: c_uint, data: *mut c_void) {
    // SAFETY: `on_translation` passed a site, which lives on.
    let site = unsafe { &*data.cast::<Site>() };
    if site.mark.is_none() && !OPEN.load(Ordering::Relaxed) {
        return;
    }
    with_state(|state| match site.mark {
        // SAFETY: the callbacks of marks were registered with `READS_REGISTERS`.
        Some(mark) => unsafe { state.mark(thread, mark) },
        None if state.thread != thread => (),
        None => {
            if state.machine.wants_vtype() {
                // SAFETY: so was that of the first instruction of a block, and a `vset` ends one.
                let vtype = VType(unsafe { read(state.registers.vtype) });
                state.machine.execute(site.placed);
                state.machine.set_vtype(vtype);
            } else {
                state.machine.execute(site.placed);
            }
            if let Some((base, offset)) = site.line {
                // SAFETY: and those of instructions on lines.
                let address = unsafe { read(state.registers.x[base]) }.wrapping_add_signed(offset);
                state.machine.access(address, 0, site.placed.insn.class == Class::Zero);
            }
        }
    });
}

extern "C" fn on_access(thread: c_uint, info: u32, address: u64, _data: *mut c_void) {
    if !OPEN.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: `info` is QEMU's, for this callback.
    let (bytes, is_store) = unsafe { (1 << qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info)) };
    with_state(|state| {
        if state.thread == thread {
            state.machine.access(address, bytes, is_store);
        }
    });
}

impl State {
    /// The instruction that `word` stands for, itself if for no other.
    fn meant(&self, word: u32) -> u32 {
        let is_hint = word & 0xfff == 0x037;
        self.stand_ins.get((word >> 12) as usize).copied().filter(|_| is_hint).unwrap_or(word)
    }

    /// # Safety
    /// As for [`read`].
    unsafe fn mark(&mut self, thread: c_uint, mark: u32) {
        match mark {
            1 => {
                self.thread = thread;
                // SAFETY: the caller's promise.
                self.machine.begin(VType(unsafe { read(self.registers.vtype) }));
                OPEN.store(true, Ordering::Relaxed);
            }
            2 => {
                OPEN.store(false, Ordering::Relaxed);
                self.machine.end();
            }
            3 => self.machine.empty_l1(),
            4 => self.machine.empty_caches(),
            // SAFETY: the caller's promise.
            5 => unsafe {
                let [address, count] = [10, 11].map(|number| read(self.registers.x[number]));
                let bytes = read_memory(address, 4 * count as usize);
                self.stand_ins = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
            },
            // SAFETY: the caller's promise.
            6 => unsafe {
                let [address, bytes] = [10, 11].map(|number| read(self.registers.x[number]));
                self.machine.place_scratchpad(address..address + bytes);
            },
            _ => (),
        }
    }
}

extern "C" fn on_exit(_id: u64, _data: *mut c_void) {
    with_state(|state| {
        let mut text = String::new();
        state.machine.regions.iter().for_each(|region| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{region}");
        });
        write(&state.out, &text);
        if let (Some(path), Some(spots)) = (&state.hotspots, &state.machine.hotspots) {
            write(path, &spots.to_string());
        }
    });
}

fn write(path: &str, text: &str) {
    if let Err(error) = std::fs::write(path, text) {
        eprintln!("cannot write {path}: {error}");
    }
}

/// QEMU calls this when it has loaded the library; 0 is success.
///
/// # Safety
/// `arguments` are `count` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _info: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let (mut core, mut out, mut hotspots) = (String::new(), String::new(), None);
    let mut options = Options::default();
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) }.to_string_lossy();
        match argument.split_once('=') {
            Some(("core", name)) => core = name.to_owned(),
            Some(("out", path)) => out = path.to_owned(),
            Some(("hotspots", path)) => hotspots = Some(path.to_owned()),
            Some(("loads", "stalling")) => options.stalling_loads = true,
            Some(("matrix", "shared")) => options.shared_matrix = true,
            _ => {
                eprintln!("cycles: {argument} is not understood");
                return 1;
            }
        }
    }
    let Some(core) = Core::named(&core, options) else {
        eprintln!("cycles: core=x60 or core=a100 is needed, not {core:?}");
        return 1;
    };
    let mut machine = Machine::new(&core);
    machine.hotspots = hotspots.as_ref().map(|_| Hotspots::default());
    let state = State { machine, out, hotspots, registers: Registers::NONE, stand_ins: Vec::new(), thread: 0 };
    *STATE.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    // SAFETY: the callbacks have the types that the interface wants, and stay valid.
    unsafe {
        qemu_plugin_register_vcpu_init_cb(id, on_thread);
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
        qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
    }
    0
}

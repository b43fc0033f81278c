//! Matrix instructions, which QEMU does not know. No time depends on their results, so that hints can stand for them.

#[cfg(not(target_arch = "riscv64"))]
pub fn replace_all() {}

/// Writes a hint over every matrix instruction of this program, and tells the plugin which is which.
#[cfg(target_arch = "riscv64")]
pub fn replace_all() {
    let mut replaced = Vec::new();
    for line in std::fs::read_to_string("/proc/self/maps").expect("a process can read its mappings").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let path = std::env::current_exe().expect("a program has a path");
        if let [range, "r-xp", .., name] = words[..]
            && name == path.to_string_lossy()
        {
            let bound = |text| usize::from_str_radix(text, 16).expect("addresses are hexadecimal");
            let (start, end) = range.split_once('-').expect("a mapping has two ends");
            // SAFETY: the range is mapped code of this program, of which only matrix instructions change, before any is executed.
            unsafe { replace(bound(start), bound(end), &mut replaced) };
        }
    }
    crate::mark::stand_ins(&replaced);
}

/// Writes hints over the matrix instructions from `start` to `end`, and adds the new ones to `replaced`.
///
/// # Safety
/// The range is mapped code, and none of its matrix instructions is being executed.
#[cfg(target_arch = "riscv64")]
unsafe fn replace(start: usize, end: usize, replaced: &mut Vec<u32>) {
    let protect = |protection| {
        // SAFETY: the caller's promise.
        let result = unsafe { libc::mprotect(start as *mut libc::c_void, end - start, protection) };
        assert_eq!(result, 0, "code cannot be protected anew");
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
    let mut at = start;
    while at < end {
        let first = at as *mut u16;
        // SAFETY: between `start` and `end`, where instructions begin at even addresses.
        unsafe {
            if *first & 3 != 3 {
                at += 2;
                continue;
            }
            if *first & 0x7f == 0x2b {
                let word = first.cast::<u32>().read_unaligned();
                let index = replaced.iter().position(|known| *known == word).unwrap_or(replaced.len());
                replaced.extend((index == replaced.len()).then_some(word));
                first.cast::<u32>().write_unaligned((index as u32) << 12 | 0x37);
            }
        }
        at += 4;
    }
    protect(libc::PROT_READ | libc::PROT_EXEC);
    // SAFETY: it only orders the writes before what is executed.
    unsafe { std::arch::asm!("fence.i") };
}

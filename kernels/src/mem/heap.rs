/// Gives the system the pages of the heap of this process in which nothing is allocated. glibc keeps those below the highest
/// allocation by itself; other heaps are left alone.
pub fn trim_heap() {
    // Miri does not know the call.
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

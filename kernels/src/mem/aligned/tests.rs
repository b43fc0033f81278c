use super::*;

const BACKENDS: [MemoryBackend; 3] = [MemoryBackend::Posix, MemoryBackend::HugePage, MemoryBackend::HugeTlb];

/// The kernel's line of the mapping that `buf` starts in.
#[cfg(not(miri))]
fn mapping(buf: &AlignedBuf) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let start = buf.as_ptr().addr();
    let holds = |line: &&str| {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        ends.and_then(|(from, to)| Some((number(from)?..number(to)?).contains(&start))).unwrap_or(false)
    };
    maps.lines().find(holds).unwrap().to_owned()
}

/// Whether each page of `buf`, which owns its pages, is in memory.
#[cfg(not(miri))]
fn resident(buf: &mut AlignedBuf) -> Vec<bool> {
    // SAFETY: asks for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
    let mut pages = vec![0u8; buf.len().div_ceil(page)];
    // SAFETY: the range is a mapping, and `pages` has a byte for each of its pages.
    let result = unsafe { libc::mincore(buf.as_mut_ptr().cast(), buf.len(), pages.as_mut_ptr()) };
    assert_eq!(result, 0);
    pages.iter().map(|page| page & 1 != 0).collect()
}

#[test]
fn is_aligned_and_zeroed() {
    // Miri takes hours for the others, which are no mappings there.
    let longest = if cfg!(miri) { 4097 } else { usize::MAX };
    for backend in BACKENDS {
        let lens = [0, 1, 63, 64, 4097, LARGE - 1, LARGE, LARGE + 1, (2 << 20) + 1, 5 << 20];
        for len in lens.into_iter().filter(|len| *len <= longest) {
            let mut buf = backend.serve(|| AlignedBuf::zeroed(len));
            assert_eq!((buf.as_ptr() as usize % ALIGNMENT, buf.len()), (0, len));
            assert!(buf.iter().all(|&byte| byte == 0));
            buf.fill(7);
            assert_eq!(&*AlignedBuf::copy_of(&buf), &*buf);
        }
    }
    assert_eq!(&*AlignedBuf::copy_of(&[1, 2, 3]), [1, 2, 3]);
}

// Miri ends where memory does.
#[cfg(not(miri))]
#[test]
fn what_the_system_does_not_have_is_an_error() {
    for backend in BACKENDS {
        for len in [usize::MAX, usize::MAX - (2 << 20), isize::MAX as usize, 1 << 60] {
            assert_eq!(backend.serve(|| AlignedBuf::try_zeroed(len)).err(), Some(OutOfMemory { bytes: len }));
        }
    }
}

#[cfg(not(miri))]
#[test]
fn pages_come_with_the_first_write() {
    for backend in BACKENDS {
        let mut buf = backend.serve(|| AlignedBuf::zeroed(32 << 20));
        assert!(resident(&mut buf).iter().all(|resident| !resident), "{backend:?}");
        buf[..16 << 20].fill(1);
        let pages = resident(&mut buf);
        assert!(pages[..pages.len() / 2].iter().all(|resident| *resident), "{backend:?}");
    }
}

#[cfg(not(miri))]
#[test]
fn sealed_pages_are_read_only() {
    for backend in BACKENDS {
        let mut buf = backend.serve(|| AlignedBuf::zeroed(3 << 20));
        buf.fill(5);
        assert!(mapping(&buf).contains(" rw-p "));
        let buf = buf.sealed();
        assert!(mapping(&buf).contains(" r--p "), "{}", mapping(&buf));
        assert!(buf.iter().all(|&byte| byte == 5));
    }
}

#[test]
#[should_panic(expected = "a sealed buffer is not written")]
fn sealed_bytes_are_not_lent_for_writing() {
    AlignedBuf::copy_of(&[1, 2, 3]).sealed()[0] = 4;
}

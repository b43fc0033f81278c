use std::fs;

use super::*;

const BACKENDS: [MemoryBackend; 3] = [MemoryBackend::Posix, MemoryBackend::HugePage, MemoryBackend::HugeTlb];

/// What the kernel says of the mapping that `buf` starts in: its head line, and the bytes of it that are resident.
fn mapping(buf: &AlignedBuf) -> (String, usize) {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
    let start = buf.as_ptr().addr();
    let holds = |line: &&str| {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        ends.and_then(|(from, to)| Some((number(from)?..number(to)?).contains(&start))).unwrap_or(false)
    };
    let mut lines = smaps.lines().skip_while(|line| !holds(line));
    let head = lines.next().unwrap().to_owned();
    let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
    (head, resident.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
}

#[test]
fn is_aligned_and_zeroed() {
    for backend in BACKENDS {
        for len in [0, 1, 63, 64, 4097, LARGE - 1, LARGE, LARGE + 1, (2 << 20) + 1, 5 << 20] {
            let mut buf = backend.serve(|| AlignedBuf::zeroed(len));
            assert_eq!((buf.as_ptr() as usize % ALIGNMENT, buf.len()), (0, len));
            assert!(buf.iter().all(|&byte| byte == 0));
            buf.fill(7);
            assert_eq!(&*AlignedBuf::copy_of(&buf), &*buf);
        }
    }
    assert_eq!(&*AlignedBuf::copy_of(&[1, 2, 3]), [1, 2, 3]);
}

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
        // Pages of the pool are resident from the start.
        if backend != MemoryBackend::HugeTlb {
            assert_eq!(mapping(&buf).1, 0, "{backend:?}");
        }
        buf[..16 << 20].fill(1);
        assert!(mapping(&buf).1 >= 16 << 20, "{backend:?}");
    }
}

#[cfg(not(miri))]
#[test]
fn sealed_pages_are_read_only() {
    for backend in BACKENDS {
        let mut buf = backend.serve(|| AlignedBuf::zeroed(3 << 20));
        buf.fill(5);
        assert!(mapping(&buf).0.contains(" rw-p "));
        let buf = buf.sealed();
        assert!(mapping(&buf).0.contains(" r--p "), "{}", mapping(&buf).0);
        assert!(buf.iter().all(|&byte| byte == 5));
    }
}

#[test]
#[should_panic(expected = "a sealed buffer is not written")]
fn sealed_bytes_are_not_lent_for_writing() {
    AlignedBuf::copy_of(&[1, 2, 3]).sealed()[0] = 4;
}

#[cfg(not(miri))]
#[test]
fn mappings_go_with_their_buffers() {
    let mapped =
        || fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    let cycle = |backend: MemoryBackend| drop(backend.serve(|| AlignedBuf::copy_of(&[3; 3 << 20]).sealed()));
    BACKENDS.into_iter().for_each(cycle);
    let before = mapped();
    (0..50).for_each(|_| BACKENDS.into_iter().for_each(cycle));
    // In pages; one buffer that is not given back in each round would be far more. Other tests map memory meanwhile.
    assert!(mapped() < before + 50 * (3 << 20) / 4096, "{before} {}", mapped());
}

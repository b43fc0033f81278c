use std::path::{Path, PathBuf};
use std::{fs, io};

use kernels::sys::{CpuSet, HwProbe, Linux, MatrixTrial, System};

/// The machine, or a folder that stands for it: then only its files are asked.
pub struct Host {
    root: Option<PathBuf>,
}

impl Host {
    pub fn new(root: Option<&str>) -> Self {
        Self { root: root.map(PathBuf::from) }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.as_deref().map_or_else(|| path.into(), |root| root.join(path.trim_start_matches('/')))
    }

    /// For each worker thread of a session on this machine: the CPU that it is bound to, its process and that one's name.
    pub fn workers(&self) -> Vec<(usize, u32, String)> {
        let mut workers = Vec::new();
        for process in folders(&self.path("/proc")) {
            let Some(pid) = file_name(&process).parse().ok() else { continue };
            for task in folders(&process.join("task")) {
                let name = fs::read_to_string(task.join("comm")).unwrap_or_default();
                let Some(cpu) = name.trim().strip_prefix("spacemit-cpu").and_then(|cpu| cpu.parse().ok()) else {
                    continue;
                };
                let program = fs::read_to_string(process.join("comm")).unwrap_or_default();
                workers.push((cpu, pid, program.trim().to_owned()));
            }
        }
        workers.sort();
        workers
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

impl System for Host {
    fn read(&self, path: &str) -> io::Result<String> {
        Linux.read(&self.path(path).to_string_lossy())
    }

    fn write(&self, _path: &str, _text: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn hwprobe(&self, cpu: usize) -> io::Result<HwProbe> {
        if self.root.is_some() { Err(io::ErrorKind::Unsupported.into()) } else { Linux.hwprobe(cpu) }
    }

    fn thread_id(&self) -> i32 {
        Linux.thread_id()
    }

    fn affinity(&self) -> io::Result<CpuSet> {
        Linux.affinity()
    }

    fn set_affinity(&self, _cpus: &CpuSet) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn vlenb(&self) -> usize {
        if self.root.is_some() { 0 } else { Linux.vlenb() }
    }

    fn executes(&self, _trial: MatrixTrial) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

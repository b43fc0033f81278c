//! Keeps the plugin mapped for the life of the process: its worker threads and thread-local data must survive `dlclose`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

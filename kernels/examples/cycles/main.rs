//! The work that `cargo xtask riscv cycles` measures: loops without memory, micro-kernels with operands in the first cache,
//! and whole drivers, each twice, of which the second time counts.
//!
//! `cycles [WORD ...]` runs the items whose names contain one of the words. For each it prints a line `item NAME WORK UNIT`,
//! where the work is counted in multiplications, elements, or bytes. `cycles --choose [WORD ...]` runs instead the products
//! of real models by every variant. The line `entry ADDRESS` tells where the program is.

mod attention;
mod choices;
mod drivers;
mod few_bits;
mod gemm;
mod item;
mod kernels;
mod loops;
mod mark;
mod matrix;
mod products;

use item::Items;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    // SAFETY: always safe to ask; 0 where there is no such value.
    println!("entry {:#x}", unsafe { libc::getauxval(libc::AT_ENTRY) });
    matrix::replace_all();
    if words.first().is_some_and(|word| word == "--choose") {
        words.remove(0);
        return choices::all(&mut Items::new(words));
    }
    let mut items = Items::new(words);
    loops::all(&mut items);
    gemm::all(&mut items);
    self::kernels::all(&mut items);
    products::all(&mut items);
    few_bits::all(&mut items);
    drivers::all(&mut items);
    attention::all(&mut items);
}

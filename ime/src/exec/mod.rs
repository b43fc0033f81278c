//! What the instructions compute.

mod dot;
mod float;
mod pack;
mod scaled;
mod sparse;
mod tile;

pub(crate) use pack::block_bytes;

use tile::Tile;

use crate::control::Control;
use crate::core::Core;
use crate::float16::Float16;
use crate::insn::{Element, Instruction, Operation};
use crate::regs::VRegs;
use crate::trap::Trap;

/// Executes the instruction on the registers of `core`, which stay as they are when it is illegal.
pub fn execute(core: Core, control: Control, instruction: Instruction, registers: &mut VRegs<'_>) -> Result<(), Trap> {
    instruction.check(core, control)?;
    let Instruction { operation, vd, vs1, vs2 } = instruction;
    let format = Float16::new(control.bf16);
    let tile = |element, signs| Tile::load(core, instruction, element, signs, registers);
    match operation {
        Operation::Dot { element, signs } => {
            dot::accumulate(&tile(element, signs), 0, registers.group_mut(vd, 2));
        }
        Operation::SlidingDot { slide, signs } => {
            dot::accumulate(&tile(Element::I8, signs), slide.into(), registers.group_mut(vd, 2));
        }
        Operation::SparseDot { element, signs, mask, segment } => {
            let dense = sparse::expand(tile(element, signs), registers.group(mask, 1), segment.into());
            dot::accumulate(&dense, 0, registers.group_mut(vd, 2));
        }
        Operation::ScaledDot { element, signs, scale, group } => {
            let tile = tile(element, signs);
            let scales = scaled::scales(core, format, registers.group(scale, 1), group.into());
            scaled::accumulate(&tile, &scales, format, registers.group_mut(vd, 1));
        }
        Operation::FloatDot { slide } => {
            let a = float::widen(format, registers.group(vs1, operation.a_registers()));
            let b = float::widen(format, registers.group(vs2, 1));
            float::accumulate(core, &a, &b, slide.into(), registers.group_mut(vd, 2));
        }
        Operation::Pack { kind, size } => {
            let sources = pack::Sources::load(core, registers, vs1, vs2);
            let destination = registers.group_mut(vd, operation.destination_registers());
            sources.pack(kind, block_bytes(kind, size, control), control.vtype.element_bytes(), destination);
        }
    }
    Ok(())
}

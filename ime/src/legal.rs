//! Which instructions are legal (specification, sections 2.3 and the "illegal conditions" of chapters 5 to 7).
//!
//! Two rules come from LLVM's assembler, which refuses what the text leaves open: a pack instruction's
//! destination overlaps no source, and the mask or scale register is no operand.

use crate::control::Control;
use crate::core::Core;
use crate::exec::block_bytes;
use crate::insn::{Element, Instruction, Operation, PackKind};
use crate::trap::Trap;

impl Instruction {
    /// Whether `core` executes the instruction in the state `control`.
    pub fn check(self, core: Core, control: Control) -> Result<(), Trap> {
        let Instruction { operation, vd, vs1, vs2 } = self;
        if !core.supports(operation) {
            return Err(Trap::Unsupported { mnemonic: operation.mnemonic() });
        }
        if control.vtype.is_illegal() || !control.vtype.is_m1() {
            return Err(Trap::VectorType { vtype: control.vtype.0 });
        }
        if operation.destination_registers() == 2 && vd % 2 != 0 {
            return Err(Trap::OddDestination { vd });
        }
        if operation.a_registers() == 2 && vs1 % 2 != 0 {
            return Err(Trap::OddSource { vs1 });
        }
        let destination = vd..vd + operation.destination_registers();
        let a = vs1..vs1 + operation.a_registers();
        if let Some(register) = destination.clone().find(|one| a.contains(one) || *one == vs2) {
            return Err(Trap::Overlap { register });
        }
        if let Some(register) = operation.parameter_register()
            && (destination.contains(&register) || a.contains(&register) || register == vs2)
        {
            return Err(Trap::ParameterOverlap { register });
        }
        self.check_immediate(core, control)
    }

    fn check_immediate(self, core: Core, control: Control) -> Result<(), Trap> {
        match self.operation {
            Operation::SparseDot { element: Element::I4, segment, .. } if segment > 1 => {
                Err(Trap::OutOfRange { immediate: segment })
            }
            Operation::ScaledDot { group, .. } if (group as usize + 1) * core.rows() * 2 > core.vlenb() => {
                Err(Trap::OutOfRange { immediate: group })
            }
            Operation::Pack { kind, size } => {
                let block = block_bytes(kind, size, control);
                let element = control.vtype.element_bytes();
                let narrows = matches!(kind, PackKind::Narrow | PackKind::NarrowSaturate);
                if element > 8 || narrows && (element > 4 || 2 * element > block) {
                    Err(Trap::ElementWidth { bits: 8 * element })
                } else if block > core.vlenb() {
                    Err(Trap::OutOfRange { immediate: size })
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }
}

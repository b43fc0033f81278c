//! Teams on a K3 that is none, for tests.

use std::sync::Arc;

use super::placement::{Placement, TcmUse};
use super::pool::CorePool;
use super::team::Team;
use crate::isa::{CoreKind, Machine, Target};
use crate::sys::fake::FakeChip;
use crate::tcm::Tcm;

/// All matrix cores, with the scratchpads that `open` finds.
pub(crate) fn k3(tcm: TcmUse, open: fn(CoreKind) -> Option<Tcm>) -> Team {
    let chip = FakeChip::k3();
    let machine = Machine::detect(&chip);
    let pool = Arc::new(CorePool::new(Arc::new(chip), machine, true, open));
    Team::on(&pool, &Target::k3(), &Placement { tcm, ..Placement::default() }).expect("a fake chip has cores")
}

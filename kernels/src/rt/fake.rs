//! Teams on a K3 that is none, for tests.

use std::sync::Arc;

use super::placement::{Placement, TcmUse};
use super::pool::CorePool;
use super::team::Team;
use crate::isa::{CoreKind, Machine, Target, isa_of_this_thread};
use crate::sys::fake::FakeChip;
use crate::tcm::Tcm;

/// All matrix cores, with the scratchpads that `open` finds. They execute what the core of the calling thread does, for it is
/// no fake.
pub(crate) fn k3(tcm: TcmUse, open: fn(CoreKind) -> Option<Tcm>) -> Team {
    let chip = FakeChip::k3();
    let machine = Machine::detect(&chip);
    let pool = Arc::new(CorePool::new(Arc::new(chip), machine, true, open));
    let team = Team::on(&pool, &Target::k3(), &Placement { tcm, ..Placement::default() });
    team.expect("a fake chip has cores").bounded(isa_of_this_thread())
}

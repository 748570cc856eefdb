"""Full chain: which tasks may have a bare nucleus, and which must have that of their parent."""

import numpy as np

from simgrid_broker.names import BareNucleus, FullChain
from simgrid_broker.policy.rule import criterion
from simgrid_broker.policy.task_brokerage.case import TaskCase

STRICT = (FullChain.ONLY, FullChain.REQUIRE)


@criterion("-full_chain", panda="selection for full chain", editions=("documented",),
           source="PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain (D35, D36)")
def off_the_chain(case: TaskCase) -> np.ndarray:
    """Refuse nuclei of the wrong kind: `only` asks for bareNucleus=only, `require` for any bare nucleus.

    `capable` asks for the parent's nucleus if that is bare, and else is ignored: like a task without fullChain it may
    not go to a nucleus with bareNucleus=only, nor to a satellite.
    """
    task, nuclei = case.task, case.nuclei
    bare = _bare(case)
    if task.fullchain == FullChain.ONLY:
        return bare != BareNucleus.ONLY
    if task.fullchain == FullChain.REQUIRE:
        return bare == BareNucleus.NO
    parents = nuclei.site == task.parent_nucleus
    if task.fullchain == FullChain.CAPABLE and (parents & (bare != BareNucleus.NO)).any():
        return ~parents
    return (bare == BareNucleus.ONLY) | _satellite(case)


@criterion("-full_chain", panda="selection for full chain", editions=("deployed",),
           source="brokerage reference, 4 T8 (D35, D36)")
def off_the_chain_deployed(case: TaskCase) -> np.ndarray:
    """Refuse bareNucleus=only to normal tasks, other nuclei to `only` and `require`, and all but a bare parent's.

    Whatever the value of fullChain, a parent that has one too and sits at a bare nucleus keeps the task there.
    """
    task, bare = case.task, _bare(case)
    if not task.fullchain:
        return bare == BareNucleus.ONLY
    parents = case.nuclei.site == task.parent_nucleus
    if task.parent_fullchain and (parents & (bare != BareNucleus.NO)).any():
        return ~parents
    return bare == BareNucleus.NO if task.fullchain in STRICT else np.zeros(case.n_candidates, bool)


def _bare(case: TaskCase) -> np.ndarray:
    """names.BareNucleus of each candidate, (n,)."""
    return np.zeros(case.n_candidates, np.int8) if case.nuclei.bare is None else case.nuclei.bare


def _satellite(case: TaskCase) -> np.ndarray | bool:
    """Candidates that are satellites, (n,)."""
    return False if case.nuclei.satellite is None else case.nuclei.satellite

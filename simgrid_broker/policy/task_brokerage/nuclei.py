"""Criteria about the nucleus itself: state, backlog, storage, full chains; tags: brokerage reference, section 1.2."""

import numpy as np

from simgrid_broker.gdpconfig import taskbrokerage
from simgrid_broker.names import BareNucleus, FullChain
from simgrid_broker.policy.rule import Answer, criterion
from simgrid_broker.policy.task_brokerage.case import TaskCase

SOURCE = "PanDA brokerage documentation, production task brokerage, step 2; brokerage reference, 1.2"


@criterion("-status", panda="selection for status", source=f"{SOURCE}, 0.2 and T3 (D3)")
def not_active(case: TaskCase) -> np.ndarray:
    """Refuse nuclei that are not ACTIVE; the deployed edition loads all as ACTIVE and so refuses none (D3)."""
    return ~case.nuclei.active & (case.edition == "documented")


@criterion("-transfer_backlog", panda="selection for transfer backlog",
           source="PanDA brokerage documentation, production task brokerage, step 2; JEDI TWiki, task brokerage; "
                  "brokerage reference, T4 (D8)")
def transfer_backlog(case: TaskCase) -> Answer:
    """Refuse nuclei whose queued output files are not below NQUEUED_NUC_CAP, unless t1Weight is negative.

    In the deployed edition as many as the cap are accepted (D8).
    """
    files, cap = case.nuclei.queued_output_files, case.cfg.value(taskbrokerage.NQUEUED_NUC_CAP)
    return case.terms.fails_full(files, cap, case.task.t1weight >= 0)


@criterion("-match", panda="selection for endpoint", source=SOURCE, editions=("documented",))
def no_storage(case: TaskCase) -> np.ndarray:
    """Refuse nuclei without a storage for output."""
    return ~case.nuclei.has_storage


@criterion("-match", panda="selection for endpoint", source="brokerage reference, 1.2 and 14", editions=("deployed",))
def output_unmatched(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus if one of those left has no storage for output: PanDA fails there and logs no tag."""
    return np.full(case.n_candidates, (case.left & ~case.nuclei.has_storage).any())


@criterion("-source_blacklist", panda="selection for source blacklist", source=SOURCE)
def unreadable(case: TaskCase) -> np.ndarray:
    """Refuse nuclei whose storage cannot send files over WAN."""
    return ~case.nuclei.read_wan


@criterion("-destination_blacklist", panda="selection for destination blacklist", source=SOURCE)
def unwritable(case: TaskCase) -> np.ndarray:
    """Refuse nuclei whose storage cannot receive files over WAN."""
    return ~case.nuclei.write_wan


@criterion("-space", panda="selection for space", source=f"{SOURCE}, T5c (D1, D7)")
def too_little_space(case: TaskCase) -> Answer:
    """Refuse nuclei where spaceFree + spaceExpired - normalizedExpOutSize x RW is not above the threshold (D1, D7).

    The deployed edition accepts the threshold, counts usable space only, and in whole GiB.
    """
    threshold_tb = case.cfg.value(taskbrokerage.DISK_THRESHOLD_OF_SHARE, gshare=case.task.gshare)
    return case.terms.fails_short(case.terms.space_left(case.nuclei), threshold_tb * case.terms.space_per_tb)


@criterion("-job", panda="check for ability to run jobs",
           source="JEDI TWiki, task brokerage; brokerage reference, T6 (D6)")
def cannot_run(case: TaskCase) -> np.ndarray:
    """Refuse nuclei without a queue that the job brokerage would use; only nuclei that are left are checked."""
    nuclei = case.nuclei
    return np.zeros(case.n_candidates, bool) if nuclei.can_run is None else ~nuclei.can_run(case.left)


@criterion("-preassign", panda="pre-assigned nucleus", source="brokerage reference, T1")
def not_preassigned(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus but the one that the task names."""
    return case.nuclei.site != case.task.nucleus


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
    return (bare == BareNucleus.ONLY) | (False if nuclei.satellite is None else nuclei.satellite)


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

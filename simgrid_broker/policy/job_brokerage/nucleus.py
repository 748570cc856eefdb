"""Queues and the nucleus of a task: how near they are, who must stay there, and what nearness is worth.

What lives here: compiled criteria and factors of one candidate about t1Weight and full chains. What does not: the link
to the nucleus and its weight.

Sources: PanDA brokerage documentation, production job brokerage, step 2, and Special Brokerage for ATLAS Full-chain;
JEDI TWiki, T1 weight; brokerage reference, sections 2.3 (P22) and 4.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import BareNucleus
from simgrid_broker.policy.rule import criterion, factor

STAY = -1
"""t1Weight with which jobs stay at the nucleus; source: step 2."""
ONLY_FULL_CHAIN = int(BareNucleus.ONLY)

FULL_CHAIN = "PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain; brokerage reference, 4 (D35, D36)"
STEP_2 = "PanDA brokerage documentation, production job brokerage, step 2"


@compiled
def in_nucleus(ask, link):
    """Whether a queue is at the nucleus; a hint is asked for queues of nuclei only (brokerage reference, 1.2)."""
    return ask["hint"] or link["in_nucleus"]


@compiled
def near_nucleus(ask, link):
    """Whether a queue is at the nucleus or shares its storage."""
    return in_nucleus(ask, link) or link["sharing"]


@criterion("-t1weight", panda="selection for t1Weight", source=STEP_2, editions=("documented",))
@compiled
def off_nucleus(ask, queue, load, link, store, n):
    """Refuse queues that do not belong to the nucleus to normal jobs of tasks with t1Weight -1 (D72)."""
    stays = ask["has_nucleus"] and ask["t1weight"] == STAY and not ask["is_merging"]
    return stays and not in_nucleus(ask, link), np.nan, np.nan


@criterion("-t1weight", panda="selection for t1Weight", source="brokerage reference, 2.3 P22", editions=("deployed",))
@compiled
def off_nucleus_deployed(ask, queue, load, link, store, n):
    """Refuse queues that neither belong to the nucleus nor share its storage to any negative t1Weight (D72)."""
    stays = ask["has_nucleus"] and ask["t1weight"] < 0 and not ask["is_merging"]
    return stays and not near_nucleus(ask, link), np.nan, np.nan


@factor("t1weight", panda="t1Weight", source="JEDI TWiki, T1 weight (D21, D22)", editions=("documented",))
@compiled
def t1weight(ask, queue, load, link, store, n):
    """t1Weight of the task for queues at its nucleus, at least 100 from priority 900 on; 1 elsewhere."""
    return ask["t1value"] if ask["has_nucleus"] and in_nucleus(ask, link) else 1.0


@factor("t1weight", panda="t1Weight", source="brokerage reference, 2.3 P5, P22 and 10.1 (D21, D22)",
        editions=("deployed",))
@compiled
def t1weight_deployed(ask, queue, load, link, store, n):
    """The same for queues that share the nucleus' storage, too; at least 100 for scouts as well."""
    return ask["t1value"] if ask["has_nucleus"] and near_nucleus(ask, link) else 1.0


@compiled
def stays_on_the_chain(ask):
    """Whether a task with fullChain has got a bare nucleus."""
    return ask["has_nucleus"] and ask["fullchain"] > 0 and ask["nucleus_bare"] > 0


@criterion("-full_chain", panda="selection for full chain", source=FULL_CHAIN)
@compiled
def off_the_chain(ask, queue, load, link, store, n):
    """Refuse all but the queues of the nucleus to full chains that have a bare one."""
    return stays_on_the_chain(ask) and not in_nucleus(ask, link), np.nan, np.nan


@criterion("-not_full_chain", panda="selection for full chain", source=FULL_CHAIN)
@compiled
def for_full_chains_only(ask, queue, load, link, store, n):
    """Refuse queues of nuclei with bareNucleus=only to all other tasks that have a nucleus."""
    kept_free = queue["bare_nucleus"] == ONLY_FULL_CHAIN and ask["has_nucleus"] and not stays_on_the_chain(ask)
    return kept_free, np.nan, np.nan

"""Criteria and factors on nucleus affinity: t1Weight and full-chain tasks."""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import BareNucleus
from simgrid_broker.policy.rule import JOB_BROKERAGE, candidate_criterion, candidate_factor

ONLY_FULL_CHAIN = int(BareNucleus.ONLY)
CHAIN: Any = {"panda": "selection for full chain", "stage": "full chain check", "cap": True,
         "source": "PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain; brokerage reference, 4 "
                   "(D35, D36)"}


@compiled
def in_nucleus(task, link):
    """Whether a queue is at the nucleus; for a hint queues of all nuclei are (brokerage reference, 1.2)."""
    return link["in_nucleus"]


@compiled
def near_nucleus(task, link):
    """Whether a queue is at the nucleus or, in the deployed edition, shares its storage."""
    return in_nucleus(task, link) or (task["sharing_counts"] and link["sharing"])


@compiled
def stays(task):
    """Whether a task stays at its nucleus."""
    return task["stays_at_nucleus"] and (task["has_nucleus"] or task["hint"])


@candidate_criterion("-t1weight", says="not at the nucleus, where t1Weight keeps the task", applies=stays,
                     panda="selection for t1Weight", stage="T1 weight check",
                     source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P22")
def off_nucleus(task, queue, load, link, store, numbers):
    """Refuse queues that do not belong to the nucleus to normal jobs of tasks with t1Weight -1 (D72).

    In the deployed edition any negative t1Weight counts, and queues that share the nucleus' storage pass.
    """
    return stays(task) and not near_nucleus(task, link), np.nan, np.nan


@candidate_factor("t1weight", panda="t1Weight",
                  source="JEDI TWiki, T1 weight; brokerage reference, 2.3 P5, P22 and 10.1 (D21, D22)")
def t1weight(task, queue, load, link, store, numbers):
    """t1Weight of the task for queues at its nucleus, at least 100 from priority 900 on; 1 elsewhere.

    In the deployed edition also for queues that share the nucleus' storage, and at least 100 for scouts.
    """
    return task["t1value"] if task["has_nucleus"] and near_nucleus(task, link) else 1.0


@compiled
def stays_on_the_chain(task):
    """Whether a task with fullChain has got a bare nucleus."""
    return task["has_nucleus"] and task["fullchain"] > 0 and task["nucleus_bare"] > 0


@compiled
def off_chains(task):
    """Whether a task with a nucleus is on no full chain."""
    return task["has_nucleus"] and not stays_on_the_chain(task)


@candidate_criterion("-full_chain", says="not at the bare nucleus of the full chain", applies=stays_on_the_chain,
                     **CHAIN)
def off_the_chain(task, queue, load, link, store, numbers):
    """Refuse all but the queues of the nucleus to full chains that have a bare one."""
    return stays_on_the_chain(task) and not in_nucleus(task, link), np.nan, np.nan


@candidate_criterion("-not_full_chain", says="bareNucleus only: its nucleus is for full chains", applies=off_chains,
                     **CHAIN)
def for_full_chains_only(task, queue, load, link, store, numbers):
    """Refuse queues of nuclei with bareNucleus=only to all other tasks that have a nucleus."""
    return queue["bare_nucleus"] == ONLY_FULL_CHAIN and off_chains(task), np.nan, np.nan

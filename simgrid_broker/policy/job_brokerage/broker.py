"""One production job brokerage decision.

What lives here: the order of asking, weighing and ranking. What does not: rules, and the draw (`selection`).
"""

from dataclasses import replace

import numpy as np

from simgrid_broker.policy.funnel import Funnel, MaskCache, run_funnel, weigh
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.job_brokerage.editions import PRODUCTION, JobBrokerage
from simgrid_broker.views import KEPT, Gdpconfig, Locality, Queues, Stats, Task, Verdict

MAX_CANDIDATES = 10
"""Candidates that are used; source: PanDA brokerage documentation, production job brokerage, step 5."""
TURN = 7919
"""Prime by which the list is turned from one task to the next before ties are broken."""
RANKING_TAGS = ("-low_weight", "-others_bootstrap")
"""What candidates behind the best are refused for; the second, with weight 0; source: brokerage reference, 10.4."""

HINT = {name: Funnel(brokerage.funnel.static) for name, brokerage in PRODUCTION.items()}
"""Criteria of the hint for task brokerage by edition; those that are not static are caps."""


def broker_jobs(task: Task, queues: Queues, stats: Stats, locality: Locality | None, cfg: Gdpconfig,
                edition: str = "documented", cache: MaskCache | None = None) -> Verdict:
    """Production job brokerage of a task: who refused each pseudo-queue, and the best ten of the others.

    `cache` must belong to the grid of `queues`. Source: PanDA brokerage documentation, production job brokerage;
    brokerage reference, sections 2 and 10.
    """
    return run_brokerage(PRODUCTION[edition], task, queues, stats, locality, cfg, cache)


def run_brokerage(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                  cfg: Gdpconfig, cache: MaskCache | None = None) -> Verdict:
    """The decision of any job brokerage; with the same arguments, the same verdict."""
    case = JobCase(task, queues, stats, locality, cfg, brokerage.numbers(task, queues, stats, locality, cfg))
    weight, factors = weigh(brokerage.factors, case)
    case = replace(case, weight=weight)
    refused_by = run_funnel(brokerage.funnel, case, cache).refused_by
    order = best_candidates(refused_by, weight, first=TURN * task.jeditaskid)
    tags = brokerage.funnel.tags + RANKING_TAGS
    _cut_others(refused_by, weight, order, len(tags))
    used = np.zeros(len(weight))
    used[order] = weight[order]
    queued, cap = brokerage.backlog(case)
    return Verdict(tags, refused_by, used, factors, order, queued, cap)


def broker_hint(task: Task, queues: Queues, stats: Stats, cfg: Gdpconfig, edition: str = "documented",
                cache: MaskCache | None = None) -> np.ndarray:
    """Pseudo-queues that could run jobs of a task, (n,) bool: those that survive all criteria but caps and weights.

    No nucleus is set and no input is looked at. Source: brokerage reference, 1.2 (hint mode).
    """
    brokerage = PRODUCTION[edition]
    case = JobCase(task, queues, stats, None, cfg, brokerage.numbers(task, queues, stats, None, cfg))
    return run_funnel(HINT[edition], case, cache).refused_by == KEPT


def best_candidates(refused_by: np.ndarray, weight: np.ndarray, n: int = MAX_CANDIDATES, first: int = 0) -> np.ndarray:
    """The candidates to use, at most `n`: those of weight 0 (bootstrap) first, then by weight.

    PanDA keeps candidates of one weight in the arbitrary order of a set (brokerage reference, 0.2 and 10.4); here the
    list is gone round from position `first` modulo its length on.
    """
    kept = np.flatnonzero(refused_by == KEPT)
    if not kept.size:
        return kept
    turn = first % kept.size
    kept = np.concatenate((kept[turn:], kept[:turn]))
    keys = -weight[kept]
    if not keys.all():
        keys[keys == 0] = -np.inf
    return kept[keys.argsort(kind="stable")[:n]]


def _cut_others(refused_by: np.ndarray, weight: np.ndarray, order: np.ndarray, n_tags: int) -> None:
    """Let the candidates behind the best ones be refused by one of the last two tags."""
    low_weight = n_tags - len(RANKING_TAGS)
    kept = np.flatnonzero(refused_by == KEPT)
    refused_by[kept] = low_weight + (weight[kept] == 0)
    refused_by[order] = KEPT

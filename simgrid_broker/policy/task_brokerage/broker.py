"""One production task brokerage decision, and the draw of the nucleus; source: PanDA brokerage documentation,
production task brokerage; brokerage reference, section 1."""

from dataclasses import replace
from functools import partial

import numpy as np

from simgrid_broker.policy.funnel import Outcome, walk, weigh
from simgrid_broker.policy.rule import FactorFunction
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.policy.task_brokerage.editions import PREASSIGNED, PRODUCTION, TaskBrokerage
from simgrid_broker.views import KEPT, Figures, Gdpconfig, Nuclei, Task, Verdict

NONE = -1
"""Candidate number for no nucleus."""


def broker_task(task: Task, nuclei: Nuclei, cfg: Gdpconfig, edition: str, uniform: float) -> Verdict:
    """Production task brokerage: the refusals, and the other nuclei with the drawn one first, then by weight.

    `uniform` is one number in (0, 1), which turns the wheel unless the nuclei have numbers of their own. A task that
    names one of the nuclei gets it, whatever the criteria say. The tags of an edition are always the same: its
    criteria, then the pre-assignment.
    """
    brokerage = PRODUCTION[edition]
    if task.nucleus < 0 or task.nucleus not in nuclei.site:
        return run_brokerage(brokerage, task, nuclei, cfg, uniform, brokerage.tags)
    verdict = run_brokerage(PREASSIGNED, task, nuclei, cfg, uniform)
    shifted = np.where(verdict.refused_by == KEPT, KEPT, verdict.refused_by + len(brokerage.funnel.tags))
    return replace(verdict, tags=brokerage.tags, refused_by=shifted)


def run_brokerage(brokerage: TaskBrokerage, task: Task, nuclei: Nuclei, cfg: Gdpconfig, uniform: float,
                  tags: tuple[str, ...] = ()) -> Verdict:
    """The decision of any task brokerage; with the same arguments, the same verdict.

    tags: of the verdict, beginning with those of its criteria; () = only these.
    """
    case = TaskCase(task, nuclei, cfg, brokerage.edition, left=np.ones(len(nuclei.site), bool))
    outcome = walk(brokerage.funnel, case)
    if outcome.lifted:
        case = replace(case, lifted=outcome.lifted)
    kept = np.flatnonzero(case.left)
    weight = np.where(case.left, weigh(brokerage.factors, case)[0], 0.0) if kept.size else np.zeros(case.n_candidates)
    order = _order(kept, weight[kept], uniform, nuclei.draws)
    return Verdict(tags or brokerage.funnel.tags, outcome.refused_by, weight, order,
                   figures=partial(figures, outcome, brokerage.factors, case))


def figures(outcome: Outcome, factors: tuple[FactorFunction, ...], case: TaskCase) -> Figures:
    """The figures of a walk: the answers of the criteria that refused a nucleus, and the factors of the others."""
    refused_by = outcome.refused_by
    value, limit = np.full(len(refused_by), np.nan), np.full(len(refused_by), np.nan)
    for place, answer in outcome.answers.items():
        who = refused_by == place
        value[who] = np.broadcast_to(answer.value, len(who))[who]
        limit[who] = np.broadcast_to(answer.limit, len(who))[who]
    return Figures(value, limit, {name: np.where(refused_by == KEPT, factor, np.nan)
                                  for name, factor in weigh(factors, case)[1].items()})


def draw(verdict: Verdict, uniform: float) -> int:
    """Candidate drawn with a probability proportional to its weight, NONE if every one was refused.

    Nuclei are walked in list order; if all weights are 0 the first one is taken. Source: brokerage reference, 1.4.
    """
    kept = np.flatnonzero(verdict.refused_by == KEPT)
    return int(kept[_place(verdict.weight[kept], uniform)]) if kept.size else NONE


def _place(weight: np.ndarray, uniform: float) -> int:
    """Position drawn among candidates with these weights, (n > 0,)."""
    steps = np.cumsum(weight)
    return min(int(np.searchsorted(steps, uniform * steps[-1])), len(weight) - 1)


def _winner(weight: np.ndarray, draws: np.ndarray) -> int:
    """Position of the first in a race of exponential times, as likely as on the wheel; the first if all weights are 0.

    A change of one weight changes few draws.
    """
    with np.errstate(divide="ignore"):
        return int(np.argmin(-np.log(draws) / weight))


def _order(kept: np.ndarray, weight: np.ndarray, uniform: float, draws: np.ndarray | None) -> np.ndarray:
    """The kept candidates, (n_kept,) with their weights: the drawn one, then the others by weight."""
    if not kept.size:
        return kept
    drawn = _place(weight, uniform) if draws is None else _winner(weight, draws[kept])
    by_weight = np.argsort(-weight, kind="stable")
    return kept[np.append(drawn, by_weight[by_weight != drawn])]

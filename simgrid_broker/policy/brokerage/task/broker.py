"""One production task brokerage decision, and the draw of the nucleus; source: PanDA brokerage documentation,
production task brokerage; brokerage reference, section 1."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simgrid_broker.policy.brokerage.brokerage import Decided, figures_of
from simgrid_broker.policy.brokerage.task import editions
from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED, PRODUCTION, TaskBrokerage
from simgrid_broker.policy.brokerage.task.question import Candidate, task_record
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.views import KEPT, NUCLEUS, Figures, Gdpconfig, Nuclei, Task, Verdict

NONE = -1
"""Candidate number for no nucleus."""
RAW = f"V{NUCLEUS.itemsize}"
"""NumPy copies structured rows field by field otherwise."""


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
    n, told = len(brokerage.funnel.tags), verdict.figures
    shifted = np.where(verdict.refused_by == KEPT, KEPT, verdict.refused_by + n)
    return replace(verdict, tags=brokerage.tags, refused_by=shifted.astype(np.int16),
                   figures=told and (lambda: replace(told(), unasked=frozenset(range(n)))))


def run_brokerage(brokerage: TaskBrokerage, task: Task, nuclei: Nuclei, cfg: Gdpconfig, uniform: float,
                  tags: tuple[str, ...] = ()) -> Verdict:
    """The decision of any task brokerage; with the same arguments, the same verdict.

    tags: of the verdict, beginning with those of its criteria; () = only these. The nuclei are asked whether they can
    run the jobs of the task once the criteria before that one have refused theirs.
    """
    record, n = task_record(task, nuclei.complete_replica, cfg, brokerage.edition), len(nuclei.records)
    seen, refused_by, weight, order = nuclei.records, np.empty(n, np.int16), np.empty(n), np.empty(n, np.int64)
    n_left = brokerage.decide(record, seen, uniform, refused_by, weight, order)
    if nuclei.can_run is not None and brokerage.ability is not None:
        asked = (refused_by == KEPT) | (refused_by >= brokerage.ability)
        able = nuclei.can_run(asked) if np.count_nonzero(asked) else asked
        if np.count_nonzero(asked > able):
            seen = seen.view(RAW).copy().view(NUCLEUS)
            seen["can_run"] = able
            n_left = brokerage.decide(record, seen, uniform, refused_by, weight, order)
    return Verdict(tags or brokerage.funnel.tags, refused_by, weight, order[:n_left],
                   figures=lambda: figures(brokerage, record, seen, refused_by, nuclei.why_not, len(tags)))


def figures(brokerage: TaskBrokerage, record: np.ndarray, nuclei: np.ndarray, refused_by: np.ndarray,
            why_not: Callable[[int], str] | None, n_tags: int) -> Figures:
    """Figures and words of the criteria that refused a nucleus, and the factors of the other nuclei.

    why_not: as in `views.Nuclei`; n_tags: of the verdict, whose last ones may belong to rules that were not asked.
    Nor were criteria that were lifted, or that came when no nucleus was left.
    """
    criteria = brokerage.funnel.criteria
    value, limit = np.full((2, len(nuclei)), np.nan)
    for k in np.flatnonzero(refused_by != KEPT).tolist():
        _, value[k], limit[k] = criteria[refused_by[k]](record[0], nuclei[k])
    known = figures_of(brokerage, Decided(refused_by, value, limit, record[0], None,
                                          lambda k: Candidate(record[0], nuclei[k])))
    for k in np.flatnonzero(refused_by == KEPT).tolist():
        for rule in brokerage.factors:
            known.factors[rule.rule.name][k] = rule(record[0], nuclei[k])
    reasons = {} if why_not is None or brokerage.ability is None else {
        k: why_not(int(nuclei[k]["site"])) for k in np.flatnonzero(refused_by == brokerage.ability).tolist()}
    last = len(criteria) - 1 if (refused_by == KEPT).any() else int(refused_by.max(initial=-1))
    lifted = {criteria.index(rule) for step in brokerage.funnel.steps if isinstance(step, Liftable)
              and record[0][step.name] for rule in step.criteria}
    return replace(known, texts={**known.texts, **reasons},
                   unasked=known.unasked | lifted | {*range(last + 1, max(n_tags, len(criteria)))})


def draw(verdict: Verdict, uniform: float) -> int:
    """Candidate drawn with a probability proportional to its weight, NONE if every one was refused."""
    return int(editions.on_wheel(uniform, verdict.refused_by, verdict.weight))

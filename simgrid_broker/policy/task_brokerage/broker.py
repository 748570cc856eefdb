"""One production task brokerage decision, and the draw of the nucleus.

What lives here: the order of asking, weighing and drawing. What does not: rules.

Sources: PanDA brokerage documentation, production task brokerage; brokerage reference, section 1.
"""

from dataclasses import replace

import numpy as np

from simgrid_broker.policy.funnel import run_funnel, survivors, weigh
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.policy.task_brokerage.editions import PREASSIGNED, PRODUCTION, TaskBrokerage
from simgrid_broker.views import KEPT, Gdpconfig, Nuclei, Task, Verdict

NONE = -1
"""Candidate that stands for no nucleus."""


def broker_task(task: Task, nuclei: Nuclei, cfg: Gdpconfig, edition: str, uniform: float) -> Verdict:
    """Production task brokerage: who refused each nucleus, and the others with the drawn one first, then by weight.

    `uniform` is one number in (0, 1). A task that names one of the nuclei gets it, whatever the criteria say.
    """
    preassigned = task.nucleus >= 0 and task.nucleus in nuclei.site
    return run_brokerage(PREASSIGNED if preassigned else PRODUCTION[edition], task, nuclei, cfg, uniform)


def run_brokerage(brokerage: TaskBrokerage, task: Task, nuclei: Nuclei, cfg: Gdpconfig, uniform: float) -> Verdict:
    """The decision of any task brokerage; with the same arguments, the same verdict."""
    case = TaskCase(task, nuclei, cfg)
    outcome = run_funnel(brokerage.funnel, case)
    weight, factors = weigh(brokerage.factors, replace(case, lifted=outcome.lifted))
    weight = np.where(outcome.refused_by == KEPT, weight, 0.0)
    kept = np.flatnonzero(outcome.refused_by == KEPT)
    tags = brokerage.funnel.tags
    verdict = Verdict(tags, outcome.refused_by, survivors(outcome.refused_by, len(tags)), weight, factors,
                      kept[np.argsort(-weight[kept], kind="stable")])
    drawn = draw(verdict, uniform)
    others = verdict.order[verdict.order != drawn]
    return replace(verdict, order=verdict.order if drawn == NONE else np.append(drawn, others))


def draw(verdict: Verdict, uniform: float) -> int:
    """Candidate drawn with a probability proportional to its weight, NONE if every one was refused.

    Nuclei are walked in list order; if all weights are 0 the first one is taken. Source: brokerage reference, 1.4.
    """
    kept = np.flatnonzero(verdict.refused_by == KEPT)
    if not kept.size:
        return NONE
    steps = np.cumsum(verdict.weight[kept])
    return int(kept[min(np.searchsorted(steps, uniform * steps[-1]), kept.size - 1)])

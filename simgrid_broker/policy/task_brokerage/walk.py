"""How task brokerage asks its criteria: one step after the other, until no nucleus is left.

What lives here: the walk. What does not: the criteria, and the funnel in which they stand (`funnel`).

Unlike job brokerage it stops early, and a criterion may look at who is left: the ability to run jobs is dear to find
out. Source: brokerage reference, 1.2 (after every step an empty list ends the attempt).
"""

from dataclasses import replace

import numpy as np

from simgrid_broker.policy.funnel import Funnel, Liftable, Outcome
from simgrid_broker.policy.rule import Answer, refused_of
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.views import KEPT


def walk(funnel: Funnel, case: TaskCase) -> Outcome:
    """Who is refused by which criterion, with the figures, and the groups lifted because they would leave nobody."""
    refused_by = np.full(case.n_candidates, KEPT)
    left, lifted, answers, place = np.ones(case.n_candidates, bool), [], {}, 0
    case = replace(case, left=left)
    for step in funnel.steps:
        if not left.any():
            break
        rules = step.criteria if isinstance(step, Liftable) else (step,)
        said = [rule(case) for rule in rules]
        refusals = [refused_of(answer) for answer in said]
        if isinstance(step, Liftable) and not (left & ~np.logical_or.reduce(refusals)).any() and step.when(case):
            lifted.append(step.name)
        else:
            for offset, refused in enumerate(refusals):
                if (left & refused).any():
                    refused_by[left & refused] = place + offset
                    left = left & ~refused
                    case = replace(case, left=left)
            answers |= {place + offset: answer for offset, answer in enumerate(said) if isinstance(answer, Answer)}
        place += len(rules)
    return Outcome(refused_by, tuple(lifted), answers)

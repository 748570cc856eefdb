"""How task brokerage asks its criteria: one step after the other, until no nucleus is left.

What lives here: the walk. What does not: the criteria, and the funnel in which they stand (`funnel`).

Unlike job brokerage it stops early, and a criterion may look at who is left: the ability to run jobs is dear to find
out. Source: brokerage reference, 1.2 (after every step an empty list ends the attempt).
"""

import numpy as np

from simgrid_broker.policy.funnel import Funnel, Liftable, Outcome
from simgrid_broker.policy.rule import Answer, refused_of
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.views import KEPT


def walk(funnel: Funnel, case: TaskCase) -> Outcome:
    """Who is refused by which criterion, with the figures, and the groups lifted because they would leave nobody.

    Who is refused is struck out of `case.left`, which holds everybody at first.
    """
    refused_by, left, lifted, answers, place = np.full(case.n_candidates, KEPT), case.left, [], {}, 0
    for step in funnel.steps:
        if not np.count_nonzero(left):
            break
        is_group = isinstance(step, Liftable)
        said = [rule(case) for rule in step.criteria] if is_group else [step(case)]
        if is_group and not _passes_any(said, left) and step.when(case):
            lifted.append(step.name)
        else:
            for offset, answer in enumerate(said):
                refused = left & refused_of(answer)
                if np.count_nonzero(refused):
                    refused_by[refused] = place + offset
                    np.logical_xor(left, refused, out=left)
                    if isinstance(answer, Answer):
                        answers[place + offset] = answer
        place += len(said)
    return Outcome(refused_by, tuple(lifted), answers)


def _passes_any(said: list[Answer | np.ndarray], left: np.ndarray) -> bool:
    """Whether any of the candidates that are left passes all criteria of a group."""
    for answer in said:
        left = left & ~refused_of(answer)
    return bool(np.count_nonzero(left))

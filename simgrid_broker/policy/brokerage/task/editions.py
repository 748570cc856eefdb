"""Production task brokerage by edition, its criteria in order and its factors, in the compiled frame of one
decision: its beginning, and the draw of the nucleus."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import indent

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.brokerage import Brokerage, Part, by_edition, composed, insert
from simgrid_broker.policy.brokerage.task import nuclei
from simgrid_broker.policy.brokerage.task.question import Candidate
from simgrid_broker.policy.funnel import Funnel, Liftable
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.views import KEPT


@compiled
def begin(task, nuclei, refused_by):
    """Leave every nucleus in the list, and see whether one of them is the parent's and how bare that is."""
    task["parent_bare"] = 0
    for k in range(len(nuclei)):
        refused_by[k] = KEPT
        if nuclei[k]["site"] == task["parent_nucleus"]:
            task["parent_bare"] = nuclei[k]["bare"]


@compiled
def is_left(refused_by, k):
    """True if no criterion has refused nucleus k so far."""
    return refused_by[k] == KEPT


@compiled
def best_first(nuclei, uniform, refused_by, weights, order):
    """Fill `order` with the nuclei that are left, the drawn one first, then by weight; returns how many there are."""
    n_left = 0
    for k in range(len(nuclei)):
        if is_left(refused_by, k):
            n_left = insert(k, weights, order, n_left, len(order))
    if n_left:
        first, place = drawn(nuclei, uniform, refused_by, weights), 0
        while order[place] != first:
            place += 1
        while place > 0:
            order[place] = order[place - 1]
            place -= 1
        order[0] = first
    return n_left


@compiled
def drawn(nuclei, uniform, refused_by, weights):
    """The nucleus drawn of those that are left: by numbers of their own where they have some, else on the wheel."""
    if math.isnan(nuclei[0]["draw"]):
        return on_wheel(uniform, refused_by, weights)
    return in_race(nuclei, refused_by, weights)


@compiled
def on_wheel(uniform, refused_by, weights):
    """The candidate that one number draws, likely in proportion to its weight; -1 if none is left.

    They are walked in list order; if all weights are 0 the first one is taken. Source: brokerage reference, 1.4.
    """
    total = 0.0
    for k in range(len(weights)):
        if is_left(refused_by, k):
            total += weights[k]
    so_far, last = 0.0, -1
    for k in range(len(weights)):
        if is_left(refused_by, k):
            so_far, last = so_far + weights[k], k
            if so_far >= uniform * total:
                return k
    return last


@compiled
def in_race(nuclei, refused_by, weights):
    """The first in a race of exponential times, as likely as on the wheel; the first if all weights are 0.

    A change of one weight changes few draws.
    """
    best, first = math.inf, -1
    for k in range(len(weights)):
        if is_left(refused_by, k):
            time = -math.log(nuclei[k]["draw"]) / weights[k] if weights[k] != 0 else math.inf
            if first < 0 or time < best:
                best, first = time, k
    return first


FRAME = begin, is_left, best_first
"""Functions that the template of the decision names."""
TEXT = '''\
@compiled
def weight({arguments}):
    """Product of the factors of a nucleus."""
    return {factors}


@compiled
def decision(tasks, nuclei, uniform, refused_by, weights, order):
    """Refuse, weigh and draw; returns the number of nuclei in `order`, the drawn one first."""
    task = tasks[0]
    begin(task, nuclei, refused_by)
{steps}    for k in range(len(nuclei)):
        nucleus = nuclei[k]
        weights[k] = weight({arguments}) if is_left(refused_by, k) else 0.0
    return best_first(nuclei, uniform, refused_by, weights, order)
'''
"""The template of the decision, a function of (records of the task, nuclei, number drawn, three columns to fill)."""
EACH = '''\
    for k in range(len(nuclei)):
        nucleus = nuclei[k]
        if is_left(refused_by, k):
'''
ALONE = EACH + '''\
            if {name}({arguments})[0]:
                refused_by[k] = {number}
'''
TOGETHER = '''\
    refuses = False
''' + EACH + '''\
            refuses = refuses or {name}({arguments})[0]
    for k in range(len(nuclei)):
        if refuses and is_left(refused_by, k):
            refused_by[k] = {number}
'''
GROUP = '''\
    passes = False
''' + EACH + '''\
            passes = passes or not ('''


def steps(funnel: Funnel) -> Iterator[str | Part]:
    """Text of the steps of a chain, one after the other as PanDA asks them: a group may be lifted for those left."""
    place = 0
    for step in funnel.steps:
        if isinstance(step, Liftable):
            yield from (GROUP, Part(step.criteria, "{name}({arguments})[0]", " or "), ")\n",
                        Part((step.when,), f'    task["{step.name}"] = not passes and {{name}}(task)\n'),
                        f'    if not task["{step.name}"]:\n',
                        Part(step.criteria, indent(ALONE, "    "), between="", first=place))
            place += len(step.criteria)
        else:
            yield Part((step,), TOGETHER if step.rule.together else ALONE, first=place)
            place += 1


@dataclass(frozen=True)
class TaskBrokerage(Brokerage):
    """A task brokerage. Raises ValueError for a rule that is not about one nucleus."""

    behind: tuple[Criterion, ...] = field(default=(nuclei.not_preassigned.rule,), kw_only=True)

    def __post_init__(self):
        for rule in (*self.funnel.criteria, *self.factors):
            if not rule.rule.per_candidate:
                raise ValueError(f"{rule.__name__}: a rule of task brokerage is about one nucleus")

    @cached_property
    def decide(self) -> Callable:
        """The decision, as `rank.TEXT` has it, made when it is first asked for."""
        return composed(TEXT, Candidate._fields, FRAME, steps=tuple(steps(self.funnel)),
                        factors=Part(self.factors, "{name}({arguments})", " * ", "1.0"))

    @cached_property
    def ability(self) -> int | None:
        """Place of the criterion for which nuclei are asked whether they can run jobs of the task, if it is there."""
        criteria = self.funnel.criteria
        return criteria.index(nuclei.cannot_run) if nuclei.cannot_run in criteria else None


DOCUMENTED = TaskBrokerage("documented", Funnel((
        nuclei.not_active, nuclei.transfer_backlog, nuclei.no_storage, nuclei.too_little_space, nuclei.unreadable,
        nuclei.unwritable, nuclei.LOCALITY, nuclei.cannot_run, nuclei.off_the_chain)),
    (nuclei.remaining_work, nuclei.local_input, nuclei.on_tape, nuclei.free_part, nuclei.free_space))
"""Production task brokerage as documented; only the JEDI TWiki has the ability to run jobs, after the data (D6)."""

DEPLOYED = TaskBrokerage("deployed", Funnel((
        nuclei.no_complete_replica, nuclei.not_active, nuclei.transfer_backlog,
        nuclei.output_unmatched, nuclei.unreadable, nuclei.unwritable, nuclei.too_little_space, nuclei.cannot_run,
        nuclei.LOCALITY, nuclei.off_the_chain_deployed)),
    (nuclei.remaining_work, nuclei.local_input, nuclei.on_tape, nuclei.free_part, nuclei.free_space))
"""Production task brokerage as deployed."""

PREASSIGNED = TaskBrokerage("documented", Funnel((nuclei.not_preassigned,)), (), behind=())
"""Replaces both for a task that names its nucleus; its terms do not matter; source: brokerage reference, T1."""

PRODUCTION = by_edition(DOCUMENTED, DEPLOYED)
"""Production task brokerage by edition."""

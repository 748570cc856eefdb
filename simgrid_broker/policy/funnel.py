"""How a chain of criteria is asked, and how the first refusal of each candidate is kept.

What lives here: `Funnel` (the chain in PanDA's order), `Liftable` (criteria that withdraw when nobody would be left),
`MaskCache` (what static criteria said before) and the weighing by factors. What does not: any rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

import numpy as np

from simgrid_broker.policy.rule import Answer, is_compiled, refused_of
from simgrid_broker.views import KEPT

ONE = 1.0
"""What a factor returns that is 1 for every candidate."""


@dataclass(frozen=True)
class Liftable:
    """Criteria that are withdrawn together if nobody who came so far would pass them and `when(case)` holds."""

    name: str
    criteria: tuple[Callable, ...]
    when: Callable


@dataclass(frozen=True, eq=False)
class Funnel:
    """Criteria, and groups of them that can be lifted, in PanDA's order; compared by identity.

    A criterion's rank says when it removes a candidate: permanent ones at their place, temporary ones after all others.
    The smallest rank that a candidate meets is its first refusal.
    """

    steps: tuple[Callable | Liftable, ...]

    @cached_property
    def criteria(self) -> tuple[Callable, ...]:
        """All criteria in order, groups opened."""
        return tuple(rule for step in self.steps
                     for rule in (step.criteria if isinstance(step, Liftable) else (step,)))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tag of each criterion in order."""
        return tuple(rule.rule.tag for rule in self.criteria)

    @cached_property
    def by_rank(self) -> tuple[Callable, ...]:
        """The criteria in the order in which they remove candidates: temporary ones behind all others."""
        return tuple(sorted(self.criteria, key=self.ranks.get))

    @cached_property
    def ranks(self) -> dict[Callable, int]:
        """Rank of each criterion: its place, and for a temporary one that much behind the last place."""
        n = len(self.criteria)
        return {rule: place + n * rule.rule.temporary for place, rule in enumerate(self.criteria)}

    @cached_property
    def never(self) -> int:
        """The rank of a candidate that nobody refused."""
        return 2 * len(self.criteria)

    @cached_property
    def criterion_of_rank(self) -> np.ndarray:
        """Index of the criterion of each rank, (2 n + 1,); KEPT at the end, for a candidate that nobody refused."""
        n = len(self.criteria)
        return np.array([*range(n), *range(n), KEPT])

    @cached_property
    def static(self) -> tuple[Callable, ...]:
        """The criteria whose masks may be cached; those of a liftable group never are."""
        return tuple(step for step in self.steps if not isinstance(step, Liftable) and step.rule.static is not None)

    @cached_property
    def load(self) -> tuple[Callable, ...]:
        """The criteria that look at one candidate, in order; whoever has some asks them in a compiled loop."""
        return tuple(step for step in self.steps
                     if not isinstance(step, Liftable) and is_compiled(step) and not step.rule.choice)

    @cached_property
    def load_ranks(self) -> np.ndarray:
        """Rank of each criterion in `load`, (n_load,)."""
        return np.array([self.ranks[rule] for rule in self.load], np.int64)

    @cached_property
    def dynamic(self) -> tuple[Callable | Liftable, ...]:
        """The other steps in order."""
        return tuple(step for step in self.steps
                     if isinstance(step, Liftable) or step.rule.static is None and not is_compiled(step))

    @cached_property
    def requirement(self) -> Callable:
        """Function from a task to the hashable requirement on which the static masks depend."""
        fields = sorted({field for rule in self.static for field in rule.rule.static})
        return attrgetter(*fields) if fields else lambda task: ()


class MaskCache:
    """First refusals by static criteria, kept until the description of the queues changes.

    One cache serves one grid: entries of an older `queues.version` are thrown away. At most `capacity` requirements are
    kept, and what was found for as many tasks; the ones that came first leave first.
    """

    def __init__(self, capacity: int = 16384):
        self.capacity = capacity
        self.version = None
        self.entries, self.tasks = {}, {}

    def first_refusals(self, funnel: Funnel, case) -> np.ndarray:
        """Smallest rank at which a static criterion refuses each candidate, (n,) int16; read-only."""
        if case.queues.version != self.version:
            self.version = case.queues.version
            self.entries.clear()
        return self._entry((funnel, funnel.requirement(case.task)), lambda: first_refusals(funnel, case))

    def multiplier(self, rule: Callable, case) -> np.ndarray | float:
        """What one static factor gives, (n,) or one number; asked after `first_refusals` of the same case."""
        key = (rule, tuple(getattr(case.task, field) for field in rule.rule.static))
        return self._entry(key, lambda: rule(case))

    def of_task(self, make: Callable, brokerage, task, queues, cfg):
        """`make(brokerage, task, queues, cfg, self)`, kept as long as all of them are the same objects."""
        found = self.tasks.get(task.jeditaskid)
        if found is None or not (found[0] is task and found[1] is queues and found[2] is cfg and found[3] is brokerage):
            found = task, queues, cfg, brokerage, make(brokerage, task, queues, cfg, self)
            self._keep(self.tasks, task.jeditaskid, found)
        return found[-1]

    def _entry(self, key, make: Callable):
        found = self.entries.get(key)
        if found is None:
            found = make()
            self._keep(self.entries, key, found)
        return found

    def _keep(self, kept: dict, key, value) -> None:
        if len(kept) >= self.capacity:
            del kept[next(iter(kept))]
        kept[key] = value


@dataclass(frozen=True)
class Outcome:
    """What a funnel said: refused_by as in `views.Verdict`, and the names of the groups that were lifted.

    answers: those with figures that refused somebody, by the index of the criterion, where somebody has kept them.
    """

    refused_by: np.ndarray
    lifted: tuple[str, ...]
    answers: Mapping[int, Answer] = field(default_factory=dict)


def run_funnel(funnel: Funnel, case, cache: MaskCache | None = None) -> Outcome:
    """Ask every criterion about every candidate of `case` (which has `n_candidates`); the first refusal stands.

    The chain has no criteria about single candidates (`Funnel.load`): those are asked elsewhere.
    With a cache, static criteria are asked once for each requirement of a task and version of the queues.
    """
    first = (first_refusals(funnel, case) if cache is None else cache.first_refusals(funnel, case)).copy()
    lifted = []
    for step in funnel.dynamic:
        if isinstance(step, Liftable):
            if not _ask_group(funnel, step, case, first):
                lifted.append(step.name)
        else:
            _note(first, mask_of(step, case), funnel.ranks[step])
    return Outcome(funnel.criterion_of_rank.take(first), tuple(lifted))


def weigh(factors: tuple[Callable, ...], case) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Weight of each candidate, (n,), as the product of the factors, and the factors by name."""
    multipliers = {rule.rule.name: rule(case) for rule in factors}
    weight = np.ones(case.n_candidates)
    for multiplier in multipliers.values():
        if multiplier is not ONE:
            weight *= multiplier
    return weight, multipliers


def mask_of(rule: Callable, case) -> np.ndarray:
    """Whom a criterion refuses, (n,) bool, whether or not it answers with figures."""
    return refused_of(rule(case))


def first_refusals(funnel: Funnel, case) -> np.ndarray:
    """Smallest rank at which a static criterion refuses each candidate, (n,) int16; read-only."""
    first = np.full(case.n_candidates, funnel.never, np.int16)
    for rule in sorted(funnel.static, key=funnel.ranks.get, reverse=True):      # whoever writes last is right
        np.putmask(first, mask_of(rule, case), funnel.ranks[rule])
    first.setflags(write=False)
    return first


def _ask_group(funnel: Funnel, group: Liftable, case, first: np.ndarray) -> bool:
    """Note the refusals of the group unless it lifts itself; whether it stood."""
    masks = [mask_of(rule, case) for rule in group.criteria]
    came = first >= funnel.ranks[group.criteria[0]]
    if not np.any(came & ~np.logical_or.reduce(masks)) and group.when(case):
        return False
    for rule, mask in zip(group.criteria, masks, strict=True):
        _note(first, mask, funnel.ranks[rule])
    return True


def _note(first: np.ndarray, refused: np.ndarray, rank: int) -> None:
    np.putmask(first, refused & (first > rank), rank)

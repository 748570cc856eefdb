"""A chain of criteria in PanDA's order, and the first refusal of each candidate by those that only see descriptions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from simgrid_broker.policy.rule import Criterion, CriterionFunction, FactorFunction, refused_of
from simgrid_broker.wording import labels

ONE = 1.0
"""Answer of a factor that is 1 for every candidate."""


@dataclass(frozen=True)
class Liftable:
    """Criteria that are lifted together if no candidate that reached them would pass and `when(task)` holds.

    name: column of the task's record that says whether they were lifted.
    """

    name: str
    criteria: tuple[CriterionFunction, ...]
    when: Callable[[np.void], bool]


@dataclass(frozen=True, eq=False)
class Funnel:
    """Criteria, and groups of them that can be lifted, in PanDA's order; compared by identity.

    A criterion's rank says when it removes a candidate; the smallest one that a candidate meets is its first refusal.
    Permanent criteria come at their place, then temporary ones, then final ones. If there are any final ones, those of
    the last of PanDA's checks come first among the temporary ones.
    """

    steps: tuple[CriterionFunction | Liftable, ...]

    @cached_property
    def criteria(self) -> tuple[CriterionFunction, ...]:
        """All criteria in order, groups opened."""
        return tuple(rule for step in self.steps for rule in (step.criteria if isinstance(step, Liftable) else (step,)))

    @cached_property
    def rules(self) -> tuple[Criterion, ...]:
        """Description of each criterion, in order."""
        return tuple(rule.rule for rule in self.criteria)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tag of each criterion in order."""
        return tuple(rule.tag for rule in self.rules)

    @cached_property
    def by_rank(self) -> tuple[CriterionFunction, ...]:
        """The criteria in the order in which they remove candidates: permanent, temporary and final ones."""
        final = [rule for rule in self.criteria if rule.rule.final]
        passing = [rule for rule in self.criteria if rule.rule.temporary]
        if final:
            checks = list(dict.fromkeys(rule.rule.stage for rule in passing))
            passing.sort(key=lambda rule: -checks.index(rule.rule.stage))
        lasting = [rule for rule in self.criteria if not rule.rule.temporary and rule not in final]
        return (*lasting, *passing, *final)

    @cached_property
    def labels_by_rank(self) -> tuple[str, ...]:
        """Label of each criterion, as in `by_rank`."""
        rules = [rule.rule for rule in self.by_rank]
        return tuple(labels([rule.name for rule in rules], [rule.tag for rule in rules]))

    @cached_property
    def ranks(self) -> dict[CriterionFunction, int]:
        """Rank of each criterion: its place in `by_rank`."""
        return {rule: rank for rank, rule in enumerate(self.by_rank)}

    @cached_property
    def places(self) -> np.ndarray:
        """Index of the criterion of each rank, (n_criteria,)."""
        return np.array([self.criteria.index(rule) for rule in self.by_rank], np.int16)

    @cached_property
    def never(self) -> int:
        """The rank of a candidate that no criterion refused."""
        return len(self.criteria)

    @cached_property
    def static(self) -> tuple[CriterionFunction, ...]:
        """The criteria whose masks may be cached; those of a liftable group never are."""
        return tuple(step for step in self.steps if not isinstance(step, Liftable) and step.rule.static is not None)

    @cached_property
    def requirement(self) -> Callable[[Any], Any]:
        """Function from a task to the hashable requirement on which the static masks depend."""
        fields = sorted({field for rule in self.static for field in rule.rule.static or ()})
        return attrgetter(*fields) if fields else lambda task: ()


class MaskCache:
    """First refusals by static criteria, kept until the description of the queues changes.

    One cache serves one grid: entries of an older `queues.version` are thrown away. At most `capacity` requirements are
    kept, and the preparations of as many tasks; the oldest leave first.
    """

    def __init__(self, capacity: int = 16384):
        self.capacity = capacity
        self.version: int | None = None
        self.entries: dict[Any, Any] = {}
        self.tasks: dict[int, tuple] = {}

    def first_refusals(self, funnel: Funnel, case) -> np.ndarray:
        """Smallest rank at which a static criterion refuses each candidate, (n,) int16; read-only."""
        if case.queues.version != self.version:
            self.version = case.queues.version
            self.entries.clear()
        return self._entry((funnel, funnel.requirement(case.task)), lambda: first_refusals(funnel, case))

    def multiplier(self, rule: FactorFunction, case) -> np.ndarray | float:
        """Multipliers of one static factor, (n,) or one number; asked after `first_refusals` of the same case."""
        key = (rule, case.edition, tuple(getattr(case.task, field) for field in rule.rule.static or ()))
        return self._entry(key, lambda: rule(case))

    def of_task(self, make: Callable, brokerage, task, queues, cfg):
        """`make(brokerage, task, queues, cfg, self)`, kept as long as all of them are the same objects.

        That of a merge job is not kept: each has a view of its own, next to that of its task.
        """
        if task.is_merging:
            return make(brokerage, task, queues, cfg, self)
        kept = self.tasks.get(task.jeditaskid)
        if kept is None or not (kept[0] is task and kept[1] is queues and kept[2] is cfg and kept[3] is brokerage):
            kept = task, queues, cfg, brokerage, make(brokerage, task, queues, cfg, self)
            self._keep(self.tasks, task.jeditaskid, kept)
        return kept[-1]

    def _entry(self, key, make: Callable):
        entry = self.entries.get(key)
        if entry is None:
            entry = make()
            self._keep(self.entries, key, entry)
        return entry

    def _keep(self, kept: dict, key, value) -> None:
        if len(kept) >= self.capacity:
            del kept[next(iter(kept))]
        kept[key] = value


def first_refusals(funnel: Funnel, case) -> np.ndarray:
    """Smallest rank at which a static criterion refuses each candidate, (n,) int16; read-only."""
    first = np.full(case.n_candidates, funnel.never, np.int16)
    # Later writes overwrite earlier ones, so iterate from the highest rank down.
    for rule in sorted(funnel.static, key=funnel.ranks.__getitem__, reverse=True):
        np.putmask(first, refused_of(rule(case)), funnel.ranks[rule])
    first.setflags(write=False)
    return first

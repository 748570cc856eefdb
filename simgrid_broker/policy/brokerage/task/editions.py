"""Production task brokerage by edition: its criteria in order, and its factors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from simgrid_broker.policy.brokerage.brokerage import Brokerage, by_edition
from simgrid_broker.policy.brokerage.compose import Part, composed
from simgrid_broker.policy.brokerage.task import nuclei
from simgrid_broker.policy.brokerage.task.decide import FRAME, TEXT, steps
from simgrid_broker.policy.brokerage.task.question import Candidate
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import Criterion


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

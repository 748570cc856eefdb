"""Policies: the decisions that a scenario names, with the edition and the gdpconfig under which they are made."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.analysis.broker import broker_analysis
from simgrid_broker.policy.brokerage.analysis.editions import AnalysisBrokerage
from simgrid_broker.policy.brokerage.production.broker import broker_by, broker_jobs
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.task.editions import TaskBrokerage
from simgrid_broker.policy.jobs.timeouts import rules
from simgrid_broker.policy.registry import policy, rules_of
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.policy.shares.dispatch import DispatchOrder
from simgrid_broker.policy.tasks.throttle import Throttle
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.views import Gdpconfig, PilotStatus, Verdict

InForce = Callable[[Mapping[str, object]], Mapping[tuple[str, str], object]]
"""Function that gives gdpconfig in force, by (component, key), after changes by the name of their key."""


class Policies:
    """Every decision of a scenario that can be replaced; raises PluginError for one that is unknown or unusable.

    dispatch: where jobs wait; removal: as `broker_rules.removal_of`, by kind of decision and tags; changes: keys of
    gdpconfig that were changed in the database; loaded: these as agents have loaded them.
    """

    def __init__(self, scenario: Any, in_force: InForce):
        names = scenario.policies
        self.dispatch_order: DispatchOrder = policy("dispatch_order", names.dispatch_order)
        self.pilot_submission: Callable[[PilotStatus], np.ndarray] = policy("pilot_submission", names.pilot_submission)
        self.throttle: Callable[..., Throttle] = policy("throttle", names.throttle)
        self.dispatch = dispatcher(scenario.dispatch)
        self.job_brokerage: Callable[..., Verdict] = (
            policy("job_brokerage", names.job_brokerage) if self.dispatch.job_rules is None
            else broker_by(self.dispatch.job_rules))
        self.task_brokerage: Callable[..., Verdict] = policy("task_brokerage", names.task_brokerage)
        self.edition: str = scenario.edition
        self.job_rules: JobBrokerage = rules_of("job_brokerage", self.job_brokerage, self.edition)
        self.analysis_brokerage: Callable[..., Verdict] = policy("analysis_brokerage", names.analysis_brokerage)
        self.analysis_rules: AnalysisBrokerage = rules_of("analysis_brokerage", self.analysis_brokerage, self.edition)
        self.task_rules: TaskBrokerage = rules_of("task_brokerage", self.task_brokerage, self.edition)
        self.removal: dict[tuple[DecisionKind, tuple[str, ...]], tuple[tuple[Criterion, int], ...]] = {}
        self.changes: dict[str, object] = {}
        self.cfg = Gdpconfig(in_force({}))
        self._in_force, self.loaded = in_force, dict[str, object]()

    @property
    def asks_about_users(self) -> bool:
        """True if jobs of analysis tasks go by analysis brokerage.

        They do not where a dispatcher has rules for all jobs, nor where an own job brokerage comes without an own
        analysis one.
        """
        is_own = self.job_brokerage is not broker_jobs
        return self.dispatch.job_rules is None and (not is_own or self.analysis_brokerage is not broker_analysis)

    def shortest_timeouts(self, queues: np.ndarray) -> dict[str, float]:
        """Shortest limit of the timeout rules of each cause under gdpconfig, at any of the queues, s."""
        limits: dict[str, float] = {}
        for rule in rules(self.cfg, self.edition):
            limit_s = float(queues[rule.limit_of_queue].min(initial=np.inf)) if rule.limit_of_queue else rule.limit_s
            limits[rule.cause.word] = min(limit_s, limits.get(rule.cause.word, np.inf))
        return limits

    def set_config(self, name: str, value: object) -> None:
        """Change one key of gdpconfig from now on."""
        self.write_config(name, value)
        self.load_config()

    def write_config(self, name: str, value: object) -> None:
        """Change one key of gdpconfig in the database, of which agents learn when they load it again."""
        self.changes[name] = value

    def load_config(self) -> None:
        """Load gdpconfig as it is in the database."""
        if self.changes != self.loaded:
            self.cfg, self.loaded = Gdpconfig(self._in_force(self.changes)), dict(self.changes)

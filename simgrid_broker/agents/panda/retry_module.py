"""PanDA's retry module: applies the retry rules to failed jobs, and raises memory and CPU time of tasks and inputs."""

from collections import Counter

import numpy as np

from simgrid_broker.names import PANDA_ERRORS, RAM_LIMITS_MB, Cause, PandaError, RetryAction
from simgrid_broker.policy.jobs import retry_module as rules
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.world.build import no_retry_rules
from simgrid_broker.world.columns import set_task
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

ANYTHING = rules.Scope()
"""Scope of a rule that concerns all tasks."""


class RetryModule:
    """Retry rules of a scenario, which fill the fabric's table; the fabric calls `learn` for failed jobs."""

    def __init__(self, world: World, edition: str):
        self.world, self.edition = world, edition
        scenario = world.scenario
        self.rules = tuple(rule_of(written) for written in scenario.retry_rules)
        self.system = tuple(each for each in scenario.error_classification
                            if each.active and each.error_class == "system")
        self.scoped = any(rule.active and rule.scope != ANYTHING for rule in self.rules)
        self.handlings: list[dict[Cause, rules.Handling]] = []
        self.classes: dict[rules.Scope, int] = {}
        self.memory_failures: Counter[int] = Counter()
        self.with_more_cputime: set[int] = set()
        self._class_of(ANYTHING)

    def begin(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        for row in rows.tolist():
            self.memory_failures.pop(row, None)
            self.with_more_cputime.discard(row)

    def classify(self, row: int) -> None:
        """Find the rules for a task that has its share."""
        if self.scoped:
            task, words = self.world.arrays.tasks[row], self.world.vocabularies
            set_task(self.world, row, retry_class=self._class_of(rules.Scope(
                words["architectures"][task["architecture"]], words["transhomes"][task["transhome"]],
                words["shares"][task["share"]])))

    def learn(self, lesson: np.void) -> int:
        """Apply the rules to a failed job, a row of LESSON; returns the ramCount level of its input."""
        row, level = int(lesson["task"]), int(lesson["ram_level"])
        handling = self.handlings[self.world.arrays.tasks["retry_class"][row]][Cause(lesson["cause"])]
        if handling.increase_memory:
            level = self._increase_memory(row, lesson, level)
        if handling.increase_cputime and row not in self.with_more_cputime:
            self.with_more_cputime.add(row)
            set_task(self.world, row, cputime=rules.increased_cputime(
                observe.task(self.world, row), int(lesson["n_events"]), lesson["hs06_milli"] * 1e-3,
                float(self.world.arrays.queues["maxtime_s"][lesson["queue"]])))
        return level

    def _class_of(self, scope: rules.Scope) -> int:
        """Number of the class of tasks with a scope; a new class gets its row in the fabric's table."""
        number = self.classes.setdefault(scope, len(self.classes))
        if number == len(self.handlings):
            self.handlings.append({cause: rules.handling(self.rules, error, scope)
                                   for cause, error in PANDA_ERRORS.items()})
            self._fill_table()
        return number

    def _fill_table(self) -> None:
        table = no_retry_rules(len(self.handlings))
        for row, handlings in zip(table, self.handlings, strict=True):
            for cause, handling in handlings.items():
                row[cause] = (handling.max_attempt or 0, self._is_system(PANDA_ERRORS[cause]),
                              handling.increase_memory or handling.increase_cputime)
        self.world.arrays = self.world.arrays.with_arrays(retry_rules=table)

    def _is_system(self, error: PandaError) -> bool:
        return any(rules.concerns(each.error_source, each.error_code, each.error_diag, error) for each in self.system)

    def _increase_memory(self, row: int, lesson: np.void, level: int) -> int:
        """Raise the memory of a task or of one input; returns the level of the input."""
        task, n_inputs = observe.task(self.world, row), int(self.world.arrays.tasks["n_jobs"][row])
        self.memory_failures[row] += int(lesson["n_inputs"])
        inputs = self.world.arrays.ram_levels["inputs"][row, 1:].tolist()
        failure = rules.MemoryFailure(float(lesson["ramcount_mb"]), int(lesson["corecount"]),
                                      float(lesson["maxpss_mb"]))
        new = rules.increase_memory(self.edition, failure, rules.TaskMemory(
            task.ramcount, task.ramunit, task.baseramcount, n_inputs,
            tuple((value, count) for value, count in zip(RAM_LIMITS_MB, inputs, strict=True) if count),
            self.memory_failures[row]))
        if new.of_task is not None:
            del self.memory_failures[row]
            self.set_memory(row, new.of_task)
        return level if new.of_input is None else max(level, 1 + RAM_LIMITS_MB.index(new.of_input))

    def set_memory(self, row: int, ramcount: float) -> None:
        """Set the ramCount of a task, and its resource type to the one that fits; it keeps its own if none does."""
        set_task(self.world, row, ramcount=ramcount)
        task, bounds = observe.task(self.world, row), tuple(self.world.scenario.resource_types.values())
        found = resource_type_of(bounds, task.corecount, task.ramcount, task.ramunit, task.baseramcount)
        if found != UNDEFINED:
            set_task(self.world, row, resource_type=found)


def rule_of(written) -> rules.RetryRule:
    """A rule of a scenario as the policy reads it."""
    return rules.RetryRule(written.errorsource, written.errorcode, RetryAction.of(written.retryaction),
                           written.errordiag, rules.Scope(written.architecture, written.release, written.workqueue),
                           written.parameters.maxAttempt, written.active)

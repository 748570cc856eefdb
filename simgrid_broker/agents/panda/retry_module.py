"""PanDA's retry module: applies the retry rules to failed jobs, and raises memory and CPU time of tasks and inputs."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from simgrid_broker.names import PANDA_ERRORS, RAM_LIMITS_MB, Cause, RetryAction
from simgrid_broker.policy.jobs import retry_module as rules
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.schema.series import CHANGED, TASK_ACTIONS
from simgrid_broker.world.build import no_retry_rules
from simgrid_broker.world.columns import limit_input, set_task
from simgrid_broker.world.tasks.input_files import is_cut
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

RECALCULATION = len(RetryAction)
"""Code of a new measurement in `task_actions`."""
MEMORY_ACTIONS = (RetryAction.INCREASE_MEMORY, RetryAction.INCREASE_MEMORY_XTIMES)
ANYTHING = rules.Scope()
"""Scope of a rule that concerns all tasks."""


class RetryModule:
    """Retry rules of a scenario, which fill the fabric's table; the fabric calls `learn` for failed jobs."""

    def __init__(self, world: World, edition: str):
        self.world, self.edition = world, edition
        scenario = world.scenario
        self.bounds = tuple(scenario.resource_types.values())
        self.rules = tuple(rule_of(written) for written in scenario.retry_rules)
        self.error_classes = tuple(rules.ErrorClass(each.error_source, each.error_code, each.error_diag,
                                                    each.error_class, each.active)
                                   for each in scenario.error_classification)
        self.first_limits: dict[int, rules.InputLimits] = {}
        self.recalculated_s: dict[int, float] = {}
        self.measure_again: Callable[[int], None] = lambda row: None
        self.record: Callable[[np.ndarray], None] = lambda rows: None
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
            self.first_limits.pop(row, None)
            self.recalculated_s.pop(row, None)

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
        for rule in handling.actions:
            if rule.retryaction in MEMORY_ACTIONS:
                level = self._increase_memory(row, lesson, level, rule)
            elif rule.retryaction == RetryAction.INCREASE_CPUTIME:
                self._increase_cputime(row, lesson)
            else:
                self._reduce_input(row, lesson, rule)
        return level

    def _increase_cputime(self, row: int, lesson: np.void) -> None:
        """Raise the CPU time of a task, whose job ran for maxtime of its queue, or have the task measured again."""
        task, slot_hs06 = observe.task(self.world, row), lesson["hs06_milli"] * 1e-3
        maxtime_s = float(self.world.arrays.queues["maxtime_s"][lesson["queue"]])
        if not rules.FROM_FIRST_FAILURE[self.edition]:
            if row not in self.with_more_cputime:
                self.with_more_cputime.add(row)
                claim = rules.increased_cputime(task, int(lesson["n_events"]), slot_hs06, maxtime_s)
                set_task(self.world, row, cputime=claim)
                self._note(row, RetryAction.INCREASE_CPUTIME, "cpuTime", task.cputime, claim)
            return
        known_s = 0.0 if np.isinf(maxtime_s) else maxtime_s
        new = rules.first_cputime(
            rules.FailedForTime(int(lesson["n_events"]), 1, known_s, known_s, slot_hs06),
            rules.TaskTime(task.cputime, task.basewalltime_s, np.nan_to_num(task.cpuefficiency),
                           int(self.world.arrays.tasks["n_finished"][row])))
        now = float(self.world.arrays.state["now_s"][0])
        if new:
            set_task(self.world, row, cputime=new)
            self._note(row, RetryAction.INCREASE_CPUTIME, "cpuTime", task.cputime, new)
        elif rules.may_recalculate(now - self.recalculated_s.get(row, -np.inf)):
            self.recalculated_s[row] = now
            self.measure_again(row)
            self._note(row, RECALCULATION, "cpuTime", task.cputime, np.nan)

    def _reduce_input(self, row: int, lesson: np.void, rule: rules.RetryRule) -> None:
        """Reduce the input of the next jobs of a task whose jobs are cut from files."""
        arrays = self.world.arrays
        if not is_cut(arrays, row):
            return
        split = arrays.splitting[row]
        if rules.keeps_input(rule, {"nEventsPerJob": split["neventsperjob"], "nFilesPerJob": split["nfilesperjob"]}):
            return
        retry, n_files = int(lesson["retry"]), int(lesson["n_inputs"])
        attempt = int(arrays.retries["attempt"][retry]) - 1 if retry >= 0 else int(arrays.tasks["max_attempt"][row])
        before = self.first_limits.get(row, rules.InputLimits())
        new = rules.reduced_input(before._replace(gb=int(split["ngbperjob"]), files=int(split["nmaxfilesperjob"])),
                                  attempt, n_files * float(split["file_bytes"]), n_files, rules.steps_of(rule))
        if new is not None:
            self.first_limits[row] = new
            for name, old, value in (("nGBPerJob", split["ngbperjob"], new.gb),
                                     ("nMaxFilesPerJob", split["nmaxfilesperjob"], new.files)):
                self._note(row, RetryAction.REDUCE_INPUT_PER_JOB, name, float(old) or np.nan, value)
            limit_input(self.world, row, new.gb, new.files)

    def _note(self, row: int, action: int, parameter: str, before: float, after: float, of_task: bool = True) -> None:
        """Record a change of a task or of the input of one of its jobs; none if the value is as it was."""
        if before != after:
            now, number = self.world.arrays.state["now_s"][0], self.world.arrays.tasks["jeditaskid"][row]
            self.record(np.array([(now, number, action, CHANGED.index(parameter), of_task, before, after)],
                                 TASK_ACTIONS.dtype))

    def _class_of(self, scope: rules.Scope) -> int:
        """Number of the class of tasks with a scope; a new class gets its row in the fabric's table."""
        number = self.classes.setdefault(scope, len(self.classes))
        if number == len(self.handlings):
            self.handlings.append({cause: rules.handling(self.rules, error, scope, self.edition)
                                   for cause, error in PANDA_ERRORS.items()})
            self._fill_table()
        return number

    def _fill_table(self) -> None:
        table = no_retry_rules(len(self.handlings))
        for row, handlings in zip(table, self.handlings, strict=True):
            for cause, handling in handlings.items():
                row[cause] = (handling.max_attempt or 0, rules.is_system(self.error_classes, [PANDA_ERRORS[cause]]),
                              bool(handling.actions))
        self.world.arrays = self.world.arrays.with_arrays(retry_rules=table)

    def _increase_memory(self, row: int, lesson: np.void, level: int, rule: rules.RetryRule) -> int:
        """Raise the memory of a task or of one input; returns the level of the input."""
        task, units = self.world.arrays.tasks[row], self.world.vocabularies["ramunits"]
        claim = float(task["ramcount"]) or np.nan
        self.memory_failures[row] += int(lesson["n_inputs"])
        inputs = self.world.arrays.ram_levels["inputs"][row, 1:].tolist()
        failure = rules.MemoryFailure(float(lesson["ramcount_mb"]), int(lesson["corecount"]),
                                      float(lesson["maxpss_mb"]))
        asked = rules.TaskMemory(
            claim, units[task["ramunit"]], float(task["baseramcount"]), int(task["n_jobs"]),
            tuple((value, count) for value, count in zip(RAM_LIMITS_MB, inputs, strict=True) if count),
            self.memory_failures[row])
        xtimes = rule.retryaction == RetryAction.INCREASE_MEMORY_XTIMES
        new = (rules.increased_xtimes(failure, asked, *rules.ram_steps(rule)) if xtimes
               else rules.increase_memory(self.edition, failure, asked))
        if new.of_task is not None:
            del self.memory_failures[row]
            self.set_memory(row, new.of_task)
            self._note(row, rule.retryaction, "ramCount", claim, new.of_task)
        if new.of_input is None:
            return level
        after = max(level, 1 + level_of(new.of_input))
        before = float(RAM_LIMITS_MB[level - 1]) if level else claim
        self._note(row, rule.retryaction, "ramCount", before, float(RAM_LIMITS_MB[after - 1]), of_task=False)
        return after

    def set_memory(self, row: int, ramcount: float) -> None:
        """Set the ramCount of a task, and its resource type to the one that fits; it keeps its own if none does."""
        set_task(self.world, row, ramcount=ramcount)
        task = self.world.arrays.tasks[row]
        found = resource_type_of(self.bounds, int(task["corecount"]), float(task["ramcount"]),
                                 self.world.vocabularies["ramunits"][task["ramunit"]], float(task["baseramcount"]))
        if found != UNDEFINED:
            set_task(self.world, row, resource_type=found)


def rule_of(written) -> rules.RetryRule:
    """A rule of a scenario as the policy reads it."""
    return rules.RetryRule(written.errorsource, written.errorcode, RetryAction.of(written.retryaction),
                           written.errordiag, rules.Scope(written.architecture, written.release, written.workqueue),
                           {name: str(value) for name, value in written.parameters if value is not None},
                           written.active)


def level_of(ramcount: float) -> int:
    """Number of the least value of the list that is not below a ramCount, or of the last one."""
    return next((place for place, value in enumerate(RAM_LIMITS_MB) if value >= ramcount), len(RAM_LIMITS_MB) - 1)

"""Automatic conversion in a run: production tasks become tasks of event service when they are refined; source:
lifecycle reference, 6.5 and 6.6 (edition deployed).

Simplified: registerEsFiles and resurrectConsumers of a converted task have no effect.
"""

from collections.abc import Iterator

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.names import PRODUCTION_LABELS, TaskStatus
from simgrid_broker.policy.jobs.retry_module import conversion_keys
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.event_rule import CONVERTS, EventRule
from simgrid_broker.systems.events.policy.conversion import COUNTED, EventTask, Keys, convert, event_pool

DEFAULT_ATTEMPTS = 2
"""Value of maxAttemptEsJob where it is 0."""


def may_convert(scenario: Scenario) -> bool:
    """True if tasks of a scenario may become tasks of event service."""
    return CONVERTS[scenario.edition] and any(
        one.esConvertible or one.esFraction for one in scenario.workload.campaigns)


class Conversion:
    """Conversion of the tasks that are refined."""

    def __init__(self, control: Control):
        self.control = control
        labels = control.world.vocabularies["labels"]
        self.production = np.isin(labels, PRODUCTION_LABELS)
        self.is_on = may_convert(control.world.scenario)

    def look(self, row: int) -> None:
        """Convert the task in a row if it is to be."""
        world, task = self.control.world, self.control.arrays.tasks[row]
        if not self.is_on or not self.production[task["label"]]:
            return
        rule = world.event_rule(row)
        fields = type(rule).model_fields
        given = {name: value for name in GIVEN if name in fields
                 and (value := getattr(rule, name)) != fields[name].default}
        draw = float(luck.uniforms(self.control.seed, "es_conversion", int(task["luck"]), 0))
        changes = convert(given | {"taskPriority": int(task["priority"])}, event_pool(self._tasks()),
                          Keys(**conversion_keys(self.control.cfg)), draw)
        if changes:
            self._apply(row, rule, changes)

    def _apply(self, row: int, rule: EventRule, changes: dict) -> None:
        """Make the task in a row one of event service."""
        world, task = self.control.world, self.control.arrays.tasks[row]
        of_rule = {name: value for name, value in changes.items() if name in EventRule.model_fields}
        own = {name: getattr(rule, name) for name in EventRule.model_fields}
        world.event_rules[int(task["jeditaskid"])] = EventRule(**own | of_rule)
        task["eventservice"], task["corecount"] = 1, changes["coreCount"]
        task["n_es_consumers"] = changes.get("nEsConsumers", task["n_es_consumers"])
        task["max_attempt_es"] = changes.get("maxAttemptEsJob", task["max_attempt_es"]) or DEFAULT_ATTEMPTS

    def _tasks(self) -> Iterator[EventTask]:
        """Production tasks of event service that count."""
        control, tasks, shares = self.control, self.control.arrays.tasks, self.control.world.vocabularies["shares"]
        rows = control.books.live_tasks.in_status(*COUNTED)
        for row in rows[(tasks["eventservice"][rows] == 1) & self.production[tasks["label"][rows]]].tolist():
            task = tasks[row]
            yield EventTask(TaskStatus(int(task["status"])), shares[task["share"]] if task["share"] >= 0 else None,
                            control.now - float(task["arrival_s"]), int(task["n_jobs"]), int(task["next_chunk"]),
                            int(task["n_jobs"]) * int(task["n_events_per_job"]))


GIVEN = {*EventRule.model_fields, "nEsConsumers", "maxAttemptEsJob"}
"""Parameters of a task that conversion reads, where they are not at their defaults."""

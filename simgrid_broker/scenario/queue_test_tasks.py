"""Tasks of the functional tests: one job for every queue and period."""

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.names import JOB_TYPE_OF_TESTS, TEST_SHARE
from simgrid_broker.scenario.campaigns import Campaign
from simgrid_broker.scenario.functional_tests import FunctionalTests
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.rules_shares import leaf_names
from simgrid_broker.schema.queues import Queue
from simgrid_broker.units import DAY

NAME = "functional test"
"""Beginning of the names of the tasks; the queue follows."""
COREPOWER, MEMORY_MB, OUTPUT_BYTES = 10, 500, 1e6
"""HS06 per core at which a test takes its time, memory and output of a test."""


def tests_of_queues(scenario: Scenario) -> list[tuple[Campaign, np.ndarray]]:
    """A campaign of tests for each queue, and when they arrive, s: from a time on that is drawn by the queue's name."""
    tests, found = scenario.workload.tests, []
    if tests.period is None:
        return []
    for name, queue in scenario.grid.queues.items():
        task = _task(name, queue, tests, TEST_SHARE if TEST_SHARE in leaf_names(scenario) else leaf_names(scenario)[0])
        first_s = float(uniforms(scenario.seed, "phase", key_of(task.name))) * tests.period
        found.append((task, np.arange(first_s, scenario.duration, tests.period)))
    return found


def _task(name: str, queue: Queue, tests: FunctionalTests, share: str) -> Campaign:
    """What a test of a queue is; an analysis queue gets one that a user might send."""
    return Campaign(
        name=f"{NAME} {name}", username="gangarbt", site=(name,), gshare=tests.gshare or share,
        processingtype=JOB_TYPE_OF_TESTS, prodsourcelabel="prod_test" if queue.production else "user",
        corecount=1 if queue.unified else queue.corecount, jobs_per_task=1, events_per_job=1,
        hs06sec_per_event=tests.walltime * COREPOWER, basewalltime=0, cpu_efficiency=1, ramcount=MEMORY_MB,
        ramunit="MB", memory_per_core=MEMORY_MB, output_per_job=OUTPUT_BYTES, failure_rate=0, max_attempt=1,
        tasks_per_day=DAY / (tests.period or DAY), priority=10_000)

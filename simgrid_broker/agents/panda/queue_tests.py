"""Status of queues by functional tests: failures set a queue to test, successes bring it back online.

What HammerCloud does for ATLAS; no public source gives its thresholds (`workload.tests`, all assumed). Simplified: a
test that is taken back before it ran says nothing.
"""

from collections import defaultdict

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import JOB_TYPE_OF_TESTS, JobStatus, QueueStatus
from simgrid_broker.policy.queues import status_after
from simgrid_broker.world.columns import set_queue_status

FINISHED, FAILED = int(JobStatus.FINISHED), int(JobStatus.FAILED)


def queue_tests(control: Control) -> Process:
    """Look at the outcome of tests, if there are any."""
    tests = control.world.scenario.workload.tests
    if tests.period is not None:
        yield from control.every(tests.look, QueueTests(control).look, "queue_tests")


class QueueTests:
    """Remembers the outcome of the last tests of each queue, and the queues that it has set to test."""

    def __init__(self, control: Control):
        self.control, self.tests = control, control.world.scenario.workload.tests
        self.outcomes: dict[int, list[bool]] = defaultdict(list)
        self.set_aside: set[int] = set()
        types = control.world.vocabularies["processing_types"]
        self.kind = types.index(JOB_TYPE_OF_TESTS) if JOB_TYPE_OF_TESTS in types else -1
        control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note the tests that have just ended, in the order of their ends."""
        tests = np.flatnonzero(rows["processing_type"] == self.kind)
        for queue, status in zip(*(rows[name][tests].tolist() for name in ("queue", "status")), strict=True):
            if status in (FINISHED, FAILED):
                self.outcomes[queue].append(status == FINISHED)

    def look(self) -> None:
        """Change the status of queues by the tests that have ended."""
        self.control.fabric.empty_outboxes()
        status, names = self.control.arrays.queues["status"], self.control.world.vocabularies["queues"]
        changed = False
        for queue, outcomes in self.outcomes.items():
            new = status_after(outcomes, QueueStatus(status[queue]), queue in self.set_aside, self.tests.failures,
                               self.tests.successes)
            del outcomes[:-max(self.tests.failures, self.tests.successes)]
            if new is not None:
                (self.set_aside.add if new == QueueStatus.TEST else self.set_aside.discard)(queue)
                set_queue_status(self.control.world, names[queue], new.word)
                outcomes.clear()
                changed = True
        if changed:
            self.control.brokers.refresh_queues()

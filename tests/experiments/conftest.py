"""Studies whose points run in the process of the tests: workers of their own take seconds to start."""

from contextlib import contextmanager

import pytest


class HereAndNow:
    """A cluster of one worker: this process. asked: the points that ran, as (group, seed); fails: seeds that die."""

    n_workers = 1

    def __init__(self, fails=()):
        self.asked, self.fails = [], fails

    def results(self, work, common, tasks):
        """As `cluster.Cluster.results`."""
        for place, task in enumerate(tasks):
            self.asked.append((task.group, task.seed))
            yield place, MemoryError("died") if task.seed in self.fails else work(common, task)


@pytest.fixture
def here_and_now(monkeypatch):
    """Points run in this process instead of in workers."""
    cluster = HereAndNow()

    @contextmanager
    def started(workers):
        yield cluster
    for module in ("running", "tune"):
        monkeypatch.setattr(f"simgrid_broker.experiments.{module}.started", started)
    return cluster

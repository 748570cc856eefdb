"""How long tasks of work queues wait for their first job."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from simgrid_broker.metrics import wide
from simgrid_broker.metrics.waiting import first_jobs

TASKS = pd.DataFrame(dict(
    jeditaskid=[1, 2, 3, 4], name=pd.Categorical(["large", "small", "small", "other"]),
    work_queue=pd.Categorical(["analysis", "analysis", "analysis", None]), arrival_s=[0.0, 0.0, 7200.0, 0.0]))
JOBS = pd.DataFrame(dict(jeditaskid=[1, 1, 2], running_s=[1800.0, 3600.0, 7200.0]))


def run(tasks):
    tables = {"tasks": tasks, "jobs": JOBS}
    return SimpleNamespace(end_s=8 * 3600.0, manifest={"scenario": {"record": {"jobs": 1.0}}},
                           table=lambda name, columns: tables[name][columns].copy())


def test_by_queue_stream_and_hour_of_arrival():
    found = wide(first_jobs(run(TASKS)))
    assert found[["work_queue", "name", "arrived"]].to_numpy().tolist() == [
        ["analysis", "large", 0.0], ["analysis", "small", 0.0], ["analysis", "small", 2.0]]
    assert found[["came", "started"]].to_numpy().tolist() == [[1, 1], [1, 1], [1, 0]]
    assert found.wait_p50.to_numpy() == pytest.approx([0.5, 2.0, np.nan], nan_ok=True)


def test_a_run_without_work_queues():
    assert len(first_jobs(run(TASKS[3:]))) == 0

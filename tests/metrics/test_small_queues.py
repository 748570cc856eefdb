"""How much of a grid runs at queues that are small for pilot streaming."""

from types import SimpleNamespace

import pandas as pd
import pytest

from simgrid_broker.metrics.summary import part_at_small_queues

QUEUES = {"BIG": dict(corecount=8), "SMALL": dict(corecount=8), "ONE": dict(corecount=1),
          "PULL": dict(corecount=8, workflow="pull"), "PLAIN": dict(corecount=8, capability="mcore")}
CORES = {"BIG": 1504, "SMALL": 1496, "ONE": 188, "PULL": 80, "PLAIN": 80}
"""Cores in use: 188 slots, 187 slots, 188 slots of one core, and ten slots without pilot streaming."""


def run_of(names, dispatch="panda"):
    """What the figure reads of a run with some of the queues, whose cores are the mean of twice as many and none."""
    rows = [dict(time_s=time, queue=name, running_cores=factor * CORES[name])
            for name in names for time, factor in ((600.0, 2), (1200.0, 0))]
    grid = dict(queues={name: dict(workflow="pull_ups", capability="ucore") | QUEUES[name] for name in names})
    manifest = dict(scenario=dict(grid=grid, dispatch=dispatch), warm_up_s=0.0)
    return SimpleNamespace(queues=pd.DataFrame(rows).astype({"queue": "category"}), manifest=manifest, end_s=1200.0)


@pytest.mark.parametrize(("names", "expected"), [
    pytest.param(["BIG"], 0, id="as many slots"),
    pytest.param(["SMALL"], 1, id="one slot fewer"),
    pytest.param(["ONE"], 0, id="slots are of the size of the queue"),
    pytest.param(["BIG", "SMALL"], 1496 / 3000, id="a part of the cores"),
    pytest.param(["PULL", "PLAIN"], 0, id="queues that pilot streaming does not serve by type"),
])
def test_part_of_the_cores(names, expected):
    assert part_at_small_queues(run_of(names), 188) == pytest.approx(expected)


def test_no_pilot_streaming_with_diracs_dispatch():
    assert part_at_small_queues(run_of(["SMALL"], dispatch="dirac"), 188) == 0

"""A claim of 0 is no claim: the table keeps 0, every decision sees NaN, and each rule decides as without a claim."""

from math import isnan, nan

import numpy as np
import pytest
from builders import Bench, scenario

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production.question import TASK, task_record
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS, job_ramcount
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.schema.queues import QueueNumbers
from simgrid_broker.views import LOAD, TASK_FIELDS, Gdpconfig, Task, records
from simgrid_broker.world.columns import set_task, set_tasks
from simgrid_broker.world.views import observe

CLAIMS = ["cpuefficiency", "cputime", "diskio", "iointensity", "ramcount", "walltime_s_per_mib"]
"""Claims of a task without which it is brokered as well."""


def test_the_claims_that_may_be_unknown():
    assert sorted(name for name, column in TASK_FIELDS.items() if column.unknown) == [
        *CLAIMS[:4], "min_granularity", *CLAIMS[4:]]


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_of_0_is_unknown_and_the_least_claim_is_not(name):
    none, least = Bench(scenario(), {name: 0}), Bench(scenario(), {name: 0.0625})
    assert none.arrays.tasks[name][0] == 0
    assert isnan(getattr(observe.task(none.world, 0), name))
    assert getattr(observe.task(least.world, 0), name) == 0.0625
    assert isnan(getattr(Task(), name))


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("write", [
    pytest.param(set_task, id="of one task"),
    pytest.param(lambda world, row, **columns: set_tasks(world, np.array([row]), **columns), id="of some tasks")])
def test_an_unknown_claim_is_written_as_0(name, write):
    bench = Bench(scenario(), {name: 5})
    write(bench.world, 0, **{name: nan})
    assert bench.arrays.tasks[name][0] == 0
    assert isnan(getattr(observe.task(bench.world, 0), name))


def test_what_is_not_a_claim_keeps_nan():
    bench = Bench(scenario(), {})
    set_task(bench.world, 0, frozen_s=nan)
    assert isnan(bench.arrays.tasks["frozen_s"][0])


@pytest.mark.parametrize("edition", EDITIONS)
def test_compiled_rules_see_unknown_claims_as_nan(edition):
    bench, config = Bench(scenario(), dict.fromkeys(CLAIMS, 0)), Gdpconfig(in_force(scenario()))
    record = task_record(observe.task(bench.world, 0), config, edition)[0]
    unknown = {name for name in TASK.names if TASK[name].kind == "f" and isnan(record[name])}
    assert unknown >= {*CLAIMS, "ram_mb", "usual_work", "least_work", "most_work"}
    assert not record["walltime_is_known"]


@pytest.mark.parametrize(("ramcount", "unit", "base", "asked"), [
    pytest.param(nan, "MBPerCore", 1000, 900, id="the base alone"),
    pytest.param(nan, "MB", 1000, 0, id="nothing"),
    pytest.param(500, "MBPerCore", 1000, 4500, id="known"),
])
def test_memory_of_a_job_whose_task_claims_none(ramcount, unit, base, asked):
    assert job_ramcount(ramcount, unit in PER_CORE_UNITS, base, 8) == asked


def test_disk_traffic_of_a_queue_is_unknown_where_none_is_written():
    diskio = next(column for column in TASK_FIELDS.values() if column.name == "diskio")
    assert diskio.zero_means == "no claim"
    assert isnan(records(LOAD, 1)["diskio"][0])
    assert QueueNumbers(diskio=0).diskio == 0

"""Where the input of analysis lies: lists of queues by replica, two loops, virtual placement, files at the end."""

import pytest
from analysis_builders import (
    DISK,
    EDITIONS,
    PART,
    PART_ON_TAPE,
    TAPE,
    VP,
    cfg,
    dataset,
    decide,
    queues,
    task,
    view,
    why,
)

from simgrid_broker.policy.brokerage.analysis.broker import prepare, tables_of
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.locality import find_input

NOWHERE = 0


def listed(*states, fields=(), **said):
    """Queues with the input, weights of their data, and whether parts count, of datasets by their states."""
    datasets = tuple(dataset(one, name=f"data{k}", **said) for k, one in enumerate(states))
    n = len(states[0])
    tables = tables_of(ANALYSIS["deployed"], queues(n), view(n, datasets),
                       prepare(ANALYSIS["deployed"], task(**dict(fields)), queues(n), cfg("deployed")))
    find_input(tables.task[0], tables)
    return tables.data["listed"].tolist(), tables.data["weight"].round(3).tolist(), bool(tables.task[0]["union"])


@pytest.mark.parametrize(("states", "expected", "weights"), [
    pytest.param([DISK, TAPE, NOWHERE], [True, False, False], [1, 0.001, 0], id="disk before tape"),
    pytest.param([NOWHERE, TAPE, NOWHERE], [False, True, False], [0, 0.001, 0], id="tape if there is nothing else"),
    pytest.param([DISK, PART, NOWHERE], [True, False, False], [1, 0, 0], id="a complete replica before a part"),
    pytest.param([DISK, VP, NOWHERE], [True, False, False], [1, 0, 0], id="a real replica before a virtual one"),
    pytest.param([TAPE, VP, NOWHERE], [False, True, False], [0.001, 1, 0], id="a virtual one before tape"),
])
def test_queues_by_replica(states, expected, weights):
    assert listed(states) == (expected, weights, False)


def test_parts_count_where_nothing_is_complete_on_disk():
    assert listed([TAPE, PART, NOWHERE], on_tape=True) == ([False, True, False], [0.001, 1, 0], False)
    assert listed([PART_ON_TAPE, PART], part=0.95) == ([False, True], [0.001, 1], False)


def test_a_queue_with_whole_and_partial_replicas_is_listed_twice():
    assert listed([TAPE | PART], on_tape=True)[1] == [2]


def test_scattered_datasets():
    assert listed([PART, PART, NOWHERE], part=0.5, scattered=True) == ([True, True, False], [1, 1, 0], False)


def test_several_datasets():
    both, one = [DISK, DISK, NOWHERE], [DISK, NOWHERE, DISK]
    assert listed(both, one) == ([True, False, False], [2, 1, 1], False)
    assert listed([DISK, NOWHERE], [NOWHERE, DISK]) == ([True, True], [1, 1], True)          # the union
    assert listed([DISK, TAPE], [TAPE, TAPE])[0] == [True, True]                              # all on disk or tape


def test_a_named_queue_must_have_some_of_it():
    assert listed([DISK, TAPE], fields=dict(preassigned=(1,)))[0] == [True, True]
    assert listed([DISK, NOWHERE], [NOWHERE, DISK], fields=dict(preassigned=(1,)))[0] == [True, True]
    assert listed([DISK, NOWHERE], fields=dict(preassigned=(1,)))[0] == [False, False]


@pytest.mark.parametrize("fields", [dict(is_merging=True), dict(avoid_vp=True), dict(is_scouting=True),
                                    dict(uselocalio=True)])
def test_tasks_that_use_no_virtual_placement(fields):
    assert listed([TAPE, VP])[0] == [False, True]
    assert listed([TAPE, VP], fields=fields)[1] == [0.001, 0.001]


@pytest.mark.rule("without_data")
def test_two_loops():
    def found(**said):
        seen = view(2, datasets=[dataset([DISK, NOWHERE], **said)], n_pilot=[0, 1])
        return why(seen=seen)
    assert found() == ["pilots_missing", ""]                          # the second one takes the other queue
    assert found(wan=False) == ["pilots_missing", "without_data"]     # the input cannot be moved


@pytest.mark.rule("without_data")
def test_temporary_problems_are_waited_for_as_documented():
    waiting = view(2, datasets=[dataset([DISK, NOWHERE])], activated=[100, 0])
    assert why(seen=waiting, edition="documented") == ["share_queue_too_long", "without_data"]
    assert why(seen=waiting) == ["", "without_data"]                  # in the code it is the best that is left


@pytest.mark.rule("without_data")
@pytest.mark.parametrize(("fields", "config", "expected"), [
    pytest.param(dict(taskpriority=1999), {}, "without_data", id="priority below 2000"),
    pytest.param(dict(taskpriority=2000), {}, "", id="priority 2000"),
    pytest.param(dict(iointensity=100), dict(IO_INTENSITY_CUTOFF_USER=99), "without_data", id="much traffic"),
    pytest.param(dict(iointensity=100), dict(IO_INTENSITY_CUTOFF_USER=100), "", id="little traffic"),
    pytest.param(dict(frozen_for_s=7200), dict(DATA_CHECK_TIMEOUT_USER=2), "without_data", id="waiting for two hours"),
    pytest.param(dict(frozen_for_s=7201), dict(DATA_CHECK_TIMEOUT_USER=2), "", id="waiting for longer"),
])
def test_locality_is_ignored_as_documented(fields, config, expected):
    seen = view(2, datasets=[dataset([DISK, NOWHERE])])
    assert why(task(**fields), seen=seen, edition="documented", anal_jobbroker=config) == ["", expected]


@pytest.mark.rule("only_problems")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(dict(taskpriority=1999), ["nothing_runs", "without_data"], id="the task waits"),
    pytest.param(dict(taskpriority=2000), ["overloaded", ""], id="locality may be ignored: others are asked"),
])
def test_problems_of_all_queues_with_data(fields, expected):
    seen = view(2, datasets=[dataset([DISK, NOWHERE])], activated=[21, 0], running=[0, 10])
    assert why(task(**fields), seen=seen) == expected
    alone = view(1, datasets=[dataset([DISK], wan=True)], activated=21, running=0)
    assert why(task(taskpriority=2000), seen=alone) == ["nothing_runs"]


@pytest.mark.rule("virtual_placement")
@pytest.mark.parametrize(("fields", "datasets", "documented", "deployed"), [
    pytest.param({}, [], "", "", id="a queue as any other"),
    pytest.param(dict(avoid_vp=True), [], "virtual_placement", "virtual_placement", id="avoided by the task"),
    pytest.param(dict(is_merging=True), [], "virtual_placement", "virtual_placement", id="merging"),
    pytest.param({}, [dataset([PART], part=0.5, scattered=True)], "", "virtual_placement", id="distributed input"),
])
def test_virtual_placement(fields, datasets, documented, deployed):
    found = [why(task(**fields), queues(1, uses_vp=1), view(datasets=datasets), edition=edition)[0]
             for edition in EDITIONS]
    assert found == [documented, deployed]


@pytest.mark.rule("virtual_placement")
def test_virtual_placement_of_analysis_alone_is_overlooked():
    avoids = task(avoid_vp=True)
    found = [why(avoids, queues(1, uses_vp=2), view(), edition=edition)[0] for edition in EDITIONS]
    assert found == ["virtual_placement", ""]


def test_files_at_the_end():
    grid = queues(2, use_only_local_data=[True, False])
    partly = dataset([DISK, DISK])._replace(n_files=11)
    assert why(queues_=grid, seen=view(2, datasets=[partly])) == ["unavailable", ""]
    moved = view(2, datasets=[dataset([NOWHERE, NOWHERE])])
    assert why(queues_=grid, seen=moved) == ["unavailable", ""]
    scattered = dataset([PART, PART], part=0.5, scattered=True)
    verdict, names = decide(queues_=grid, seen=view(2, datasets=[scattered]))
    assert names == ["", ""] and len(verdict.order) == 2

"""The list that job brokerage begins with, and what pre-assigned queues are spared."""

import numpy as np
import pytest
from builders import broker_hint
from policy_builders import cfg, queues, stats, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.names import QueueStatus as S
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.production.candidates import initial_list
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.views import KEPT, Premerge

HOUR = 3600.0
UNIFIED = dict(queue=[0, 0, 1], site=[0, 0, 1], resource_type=[0, 1, -1])


@pytest.mark.rule("candidates.not_preassigned", "initial_list")
@pytest.mark.parametrize(("fields", "mask", "single", "listed"), [
    pytest.param({}, [1, 1, 1], False, False, id="nothing is named: all queues"),
    pytest.param({"preassigned": (1,)}, [0, 0, 1], True, False, id="one queue, one candidate: SINGLE"),
    pytest.param({"preassigned": (0,)}, [1, 1, 0], False, True, id="a unified queue is its pseudo-queues: LIST"),
    pytest.param({"preassigned": (1, 0)}, [1, 1, 1], False, True, id="two queues: LIST"),
    pytest.param({"preassigned": (5,)}, [0, 0, 0], False, False, id="a queue without candidates"),
    pytest.param({"premerge": Premerge(1, 0, 0)}, [0, 0, 1], False, True, id="merging: LIST, also of one"),
    pytest.param({"premerge": Premerge(1, 0, 0), "preassigned": (0,)}, [0, 0, 1], False, True,
                 id="merging goes before the site of the task"),
])
def test_initial_list(fields, mask, single, listed):
    for edition in EDITIONS:
        found = initial_list(task(**fields), queues(3, **UNIFIED), edition)
        assert (found.mask.tolist(), found.single, found.listed) == ([bool(m) for m in mask], single, listed)


@pytest.mark.rule("candidates.not_preassigned")
@pytest.mark.parametrize(("columns", "mask"), [
    pytest.param({}, [1, 0, 0], id="nobody else has the storage"),
    pytest.param({"storage": [0, 0, 1], "storage_site": [0, 0, 2]}, [1, 1, 0], id="a site that sends output there"),
    pytest.param({"storage": [4, 3, 1], "reads": ((4,), (3, 4), (1,))}, [1, 1, 0], id="one that reads its output"),
    pytest.param({"storage": [0, 0, 0], "production": [1, 1, 1], "analysis": [1, 0, 1]}, [1, 0, 1],
                 id="a queue for production alone is no company for a unified one"),
    pytest.param({"storage": [0, 0, 0], "production": [1, 1, 1], "analysis": [0, 0, 1]}, [1, 1, 1],
                 id="a unified one is for one of production"),
    pytest.param({"storage": [0, 0, 0], "storage_site": [0, 0, 0], "status": [3, 4, 0]}, [1, 0, 1],
                 id="the others must be online, the queue itself need not"),
    pytest.param({"storage": [0, 0, 0], "storage_site": [0, 0, 0], "production": [0, 0, 1],
                  "analysis": [1, 1, 1]}, [1, 0, 1], id="the others must take production work"),
    pytest.param({"storage": [-1, -1, 1], "storage_site": [-1, -1, 2]}, [1, 0, 0], id="no storage is no common one"),
])
def test_merge_jobs_stay_at_the_storage(columns, mask):
    view = queues(3, **{name: np.array(column, bool) if name in ("production", "analysis") else column
                        for name, column in columns.items()})
    merging = task(is_merging=True, premerge=Premerge(0, -1.0, 0.0))
    for edition in EDITIONS:
        assert initial_list(merging, view, edition).mask.tolist() == [bool(m) for m in mask]


@pytest.mark.rule("candidates.not_preassigned")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_unified_queue_as_a_whole_takes_work_that_names_it_alone(edition):
    view = queues(3, queue=[0, 0, 1], site=[0, 0, 1], resource_type=[0, -1, -1], unified=[True, True, False])
    of_anybody, named = (tags(task(preassigned=names), view, edition) for names in ((), (0,)))
    assert of_anybody == ["", "-preassign", ""]
    assert named == ["", "" if edition == "deployed" else "-preassign", "-preassign"]
    verdict = broker_jobs(task(), view, stats(3), None, cfg(), edition)
    assert verdict.figures().texts == {1: "its pseudo-queues take the work"}


@pytest.mark.rule("candidates.not_preassigned")
@pytest.mark.parametrize(("idle_h", "stuck_h", "documented", "deployed"), [
    pytest.param(-1, 100, True, False, id="D17 the code waits for input that never changed"),
    pytest.param(30, 23.9, False, True, id="D17 the code lets go after 6 hours without queues"),
    pytest.param(30, 24, True, True, id="skipped for 24 hours"),
    pytest.param(24, 24, True, False, id="D17 24 hours since the input changed are not more than 24"),
    pytest.param(30, 6, False, False, id="D17 6 hours without queues are not more than 6"),
    pytest.param(30, 6.0001, False, True, id="D17 a little more is"),
])
def test_d17_merge_jobs_may_leave_after_a_day(idle_h, stuck_h, documented, deployed):
    merging = task(is_merging=True, premerge=Premerge(0, idle_h * HOUR, stuck_h * HOUR))
    for edition, free in zip(EDITIONS, (documented, deployed), strict=True):
        found = initial_list(merging, queues(2), edition)
        assert found.mask.all() == free and found.preassigned != free


def tags(task_, view, edition):
    """The tag of each candidate, empty for those that are kept."""
    n = len(view.names)
    verdict = broker_jobs(task_, view, stats(n), None, cfg(), edition)
    return ["" if k == KEPT else verdict.tags[k] for k in verdict.refused_by]


@pytest.mark.rule("core_count_mismatch", "too_many_cores", "zero_share", "named_test", "not_open")
@pytest.mark.rule("candidates.not_preassigned")
@pytest.mark.rule("is_spared")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("columns", "fields"), [
    pytest.param({"status": [S.OFFLINE, S.ONLINE]}, {}, id="D19 offline"),
    pytest.param({"production": [False, True]}, {}, id="for analysis only"),
    pytest.param({"names": ("A_TEST", "B")}, {}, id="D16 test in the name"),
    pytest.param({"corecount": [8, 1]}, {}, id="more cores than the task asks for"),
    pytest.param({"wnconnectivity": ("none", "full")}, {"ipconnectivity": "http"}, id="no network"),
    pytest.param({"jobseed": ("es", "std")}, {}, id="only event service"),
    pytest.param({"maxtime_s": [HOUR * 23.0, np.inf]}, {"is_scout": True}, id="too short for scouts"),
])
def test_what_a_single_queue_that_the_task_names_is_spared(columns, fields, edition):
    view = queues(2, **columns)
    first, second = tags(task(**fields), view, edition)
    assert second == "" and (first == "") == (edition == "deployed" and "names" in columns)
    spared = edition == "deployed" or not {"corecount", "wnconnectivity", "jobseed", "maxtime_s"} & set(columns)
    assert tags(task(preassigned=(0,), **fields), view, edition) == ["" if spared else first, "-preassign"]


@pytest.mark.rule("opportunistic", "inactive")
@pytest.mark.rule("opportunistic", "inactive")
@pytest.mark.parametrize(("columns", "load", "fields", "tag"), [
    pytest.param({"pledgedcpu": -1.0}, {}, {"currentpriority": 800}, "-opportunistic", id="opportunistic"),
    pytest.param({}, {"idle_s": 7201.0, "activated_all": 1, "n_pilot": 1}, {"currentpriority": 800}, "-inactive",
                 id="inactive"),
    pytest.param({}, {"idle_s": 7201.0, "activated_all": 1, "n_pilot": 1},
                 {"is_merging": True, "premerge": Premerge(0, 0.0, 0.0)}, "-inactive", id="inactive, for merging"),
])
@pytest.mark.parametrize("edition", EDITIONS)
def test_as_documented_activity_is_asked_of_named_queues_too(columns, load, fields, tag, edition):
    view = queues(1, **columns)
    named = task(**{"preassigned": (0,)} | fields)
    verdict = broker_jobs(named, view, stats(1, **load), None, cfg(), edition)
    refused = "" if verdict.refused_by[0] == KEPT else verdict.tags[verdict.refused_by[0]]
    assert refused == (tag if edition == "documented" else "")


@pytest.mark.rule("not_open", "named_test")
@pytest.mark.parametrize("edition", EDITIONS)
def test_of_several_named_queues_only_the_status_is_spared(edition):
    view = queues(3, status=[S.OFFLINE, S.BROKEROFF, S.ONLINE], corecount=[1, 8, 1])
    assert tags(task(preassigned=(0, 1)), view, edition) == ["", "-cpucore", "-preassign"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_memory_is_asked_of_named_queues_too(edition):
    view = queues(2, maxrss_mb=[1000.0, 1000.0])
    assert tags(task(preassigned=(0,), ramcount=2000), view, edition) == ["-lowmemory", "-preassign"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_hint_to_the_task_brokerage_knows_no_named_queues(edition):
    named = task(preassigned=(0,), premerge=Premerge(0, 0.0, 0.0))
    assert broker_hint(PRODUCTION[edition], named, queues(2), stats(2), cfg()).tolist() == [True, True]

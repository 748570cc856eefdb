"""The order in which resource types are written changes nothing: pilot streaming walks jobs by priority."""

from itertools import permutations

import pytest
from builders import S, Stage, scenario

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import share_order, statistics

TYPES = {"SCORE": dict(mincore=1, maxcore=1, maxrampercore=2000), "MCORE": dict(mincore=2, maxrampercore=2000),
         "SCORE_HIMEM": dict(mincore=1, maxcore=1, minrampercore=2001)}
AGENTS = (statistics, share_order, pilot_streaming, harvester_submitter)


def running(names, workflow) -> dict[str, int]:
    """Running jobs by resource type after an hour at a site of 160 cores, with work of two priorities for more."""
    plan = scenario({"HERE": dict(cores=160)}, {"Q": dict(atlas_site="HERE", capability="ucore", corecount=8,
                                                          workflow=workflow, maxrss=32_000)},
                    resource_types={name: TYPES[name] for name in names})
    code = {name: number for number, name in enumerate(names)}
    long = dict(work_hs06s_per_event=1e7)
    stage = Stage(AGENTS, plan, long | dict(n_jobs=400, priority=100, resource_type=code["SCORE"]),
                  long | dict(n_jobs=100, priority=790, corecount=8, resource_type=code["MCORE"]),
                  long | dict(n_jobs=10, priority=100, resource_type=code["SCORE_HIMEM"]))
    words = stage.world.vocabularies["pseudo_queues"]
    for task, (count, name) in enumerate(((400, "SCORE"), (100, "MCORE"), (10, "SCORE_HIMEM"))):
        stage.submit(count, task=task, queue=words.index(f"Q/{name}"))
    stage.run(3600.0)
    jobs = stage.arrays.jobs[stage.live()]
    found = jobs["resource_type"][jobs["status"] == S.RUNNING]
    return {name: int((found == code[name]).sum()) for name in TYPES}


@pytest.mark.parametrize("workflow", ["pull_ups", "pull"])
def test_a_permutation_of_the_resource_types_changes_nothing(workflow):
    found = [running(names, workflow) for names in permutations(TYPES)]
    assert all(one == found[0] for one in found), found
    assert found[0]["MCORE"] > 0


def test_multi_core_jobs_of_high_priority_are_not_starved_by_single_core_ones():
    """With SCORE written first, eight-core jobs of priority 790 got no workers beside single-core jobs of 100."""
    assert running(("SCORE", "MCORE", "SCORE_HIMEM"), "pull_ups")["MCORE"] >= 10

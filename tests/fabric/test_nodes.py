"""Worker nodes: a worker needs its cores and memory on one of them; back-filling while a large one waits."""

import pytest
from builders import Bench, scenario

LEAVES_S = 660.0
"""A pilot takes 60 s to start and leaves after 600 s without a job."""


def site_with(queues: dict[str, dict | int], cores=16, **site) -> Bench:
    """One site with several queues on its batch system, each said by its cores, or more."""
    said = {name: dict(atlas_site="HERE", capability="mcore", maxrss=1000)
            | (more if isinstance(more, dict) else dict(corecount=more)) for name, more in queues.items()}
    return Bench(scenario({"HERE": dict(cores=cores, memory_per_core=2000) | site}, said,
                          agents=dict(pilot_startup=60, empty_pilot=600)))


def running(bench) -> list[int]:
    """Workers that hold a slot, by pseudo-queue."""
    bench.check()
    return bench.arrays.pseudo_queues["n_running"].tolist()


@pytest.mark.rule("node_for")
@pytest.mark.parametrize(("node", "expected"), [
    pytest.param(None, [5, 0, 1], id="without nodes 11 cores are enough for 8"),
    pytest.param(dict(cores=16), [5, 0, 1], id="one node"),
    pytest.param(dict(cores=8), [5, 0, 1], id="two nodes: the small ones fill one of them"),
    pytest.param(dict(cores=12), [5, 0, 1], id="what is left over is a node: the small ones fill it first"),
])
def test_cores_of_a_slot_are_on_one_node(node, expected):
    bench = site_with({"S": 1, "M": 4, "L": 8}, node=node)
    bench.workers(5, queue=0)
    bench.workers(1, queue=2)
    assert running(bench) == expected


@pytest.mark.rule("node_for")
@pytest.mark.parametrize(("whole", "expected"), [
    pytest.param(False, [0, 3], id="three workers of 4 cores on nodes of 6: one each"),
    pytest.param(True, [0, 3], id="whole nodes: the same"),
])
def test_fragments_of_nodes_stay_empty(whole, expected):
    bench = site_with({"S": 1, "M": 4}, cores=18, node=dict(cores=6, whole=whole))
    bench.workers(4, queue=1)
    assert running(bench) == expected
    assert bench.arrays.pools["free_cores"].tolist() == [0 if whole else 6]
    bench.run(1.0)
    bench.workers(1, queue=0)
    assert running(bench) == expected                       # it waits behind the fourth
    bench.run(LEAVES_S)
    assert running(bench) == [1, 1]
    assert bench.arrays.pools["free_cores"].tolist() == [6 if whole else 13]


@pytest.mark.rule("start_workers", "node_for")
@pytest.mark.parametrize(("memory", "expected"), [
    pytest.param(3000, [3], id="three fit into the memory of the only node"),
    pytest.param(2999, [2], id="the third lacks a megabyte"),
    pytest.param(None, [16], id="by default a node has the memory of its cores: here 2000 MB each"),
])
def test_memory_of_a_node(memory, expected):
    bench = site_with({"S": 1}, node=dict(cores=16) | (dict(memory=memory) if memory else {}))
    bench.workers(20)
    assert running(bench) == expected


@pytest.mark.rule("node_for")
def test_a_worker_goes_to_the_fullest_node_that_has_room():
    bench = site_with({"S": 1, "M": 4}, node=dict(cores=8))
    for number, queue in enumerate((1, 0, 0, 1)):
        bench.run(float(number))
        bench.workers(1, queue=queue)
    assert bench.arrays.nodes["free_cores"].tolist() == [2, 4]


@pytest.mark.rule("start_workers")
@pytest.mark.parametrize(("backfill", "seconds", "expected"), [
    pytest.param(0, 2.0, [1, 0], id="none: the site drains for the large worker"),
    pytest.param(100, 100.0, [4, 0], id="smaller ones overtake it"),
    pytest.param(100, 101.0, [1, 0], id="but not for longer than said"),
])
def test_backfilling(backfill, seconds, expected):
    bench = site_with({"S": 1, "M": 8}, cores=8, backfill=backfill)
    bench.workers(1, queue=0)
    bench.run(1.0)
    bench.workers(1, queue=1)
    bench.run(seconds)
    bench.workers(3, queue=0)
    assert running(bench) == expected
    bench.run(100 + LEAVES_S)
    assert running(bench)[1] == 1


@pytest.mark.rule("start_workers")
def test_static_partitions_stand_beside_dynamic_slots():
    bench = site_with({"S": 1, "M": 8, "OWN": dict(corecount=1, cores=4)}, cores=8)
    bench.workers(1, queue=1)
    bench.workers(9, queue=2)
    bench.workers(9, queue=0)
    assert running(bench) == [0, 1, 4]

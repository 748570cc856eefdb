"""A link as processor sharing: transfers that arrive at random take on average their size over what is left free."""

import numpy as np
import pytest
from builders import Bench, S, two_sites
from queueing import assert_mean, erlang_c, exponential, poisson

MB = 1e6
"""Bytes that the link moves in a second."""
N_TRANSFERS, FORGOTTEN = 2500, 300
SEEDS = range(8)
LOAD = 0.7


def sojourns(sizes, seed, **link) -> np.ndarray:
    """How long each transfer takes from request to callback, (n,) s; sizes in MB, one job, one file, one task each.

    link: what is said of the link besides its capacity.
    """
    arrivals = poisson(LOAD / np.mean(sizes), len(sizes), seed)
    said = [dict(input_bytes_per_job=size * MB, replicas={1: 1.0}) for size in sizes]
    bench = Bench(two_sites(link=dict(bandwidth=MB, max_active_files=10**6) | link), *said)
    for task, now in enumerate(arrivals.tolist()):
        bench.run(now)
        bench.submit(task=task)
    bench.run(arrivals[-1] + 1e6)
    rows = bench.live()
    assert bench.statuses() == ["activated"] * len(sizes)
    found = np.empty(len(sizes))
    found[bench.arrays.jobs["task"][rows]] = np.subtract(*bench.arrays.job_times[rows][:, [S.ACTIVATED, S.ASSIGNED]].T)
    return found[FORGOTTEN:]


def test_exponential_sizes():
    """M/M/1 with processor sharing: mean time = mean size / (1 - load), as with any other order of service."""
    mean = 10.0
    found = [sojourns(exponential(mean, N_TRANSFERS, seed), seed).mean() for seed in SEEDS]
    realised = [exponential(mean, N_TRANSFERS, seed).mean() for seed in SEEDS]
    assert_mean(np.array(found) / np.array(realised), 1 / (1 - LOAD))


@pytest.mark.parametrize("size", [2.0, 18.0])
def test_time_is_proportional_to_size_whatever_the_distribution(size):
    """M/G/1 with processor sharing: a transfer of size x takes x / (1 - load) on average, and nothing else counts."""
    found = []
    for seed in SEEDS:
        is_small = exponential(1.0, N_TRANSFERS, seed) > np.log(2)
        is_small[:2] = True, False
        sizes = np.where(is_small, 2.0, 18.0)
        found.append(sojourns(sizes, seed)[(sizes == size)[FORGOTTEN:]].mean())
    assert_mean(found, size / (1 - LOAD))


@pytest.mark.parametrize("servers", [2, 5])
def test_files_of_a_limited_rate_are_served_as_by_several_servers(servers):
    """M/M/c: each file moves at 1/c of the link at most; a file waits C(c, a) x mean / (c - a) of a server's time."""
    mean, found, realised = 10.0, [], []
    for seed in SEEDS:
        sizes = exponential(mean, N_TRANSFERS, seed)
        found.append(sojourns(sizes, seed, file_rate=MB / servers).mean())
        realised.append(sizes.mean())
    alone, offered = servers, LOAD * servers                   # times of a file in units of its size over the link
    expected = alone * (1 + erlang_c(offered, servers) / (servers - offered))
    assert_mean(np.array(found) / np.array(realised), expected)


@pytest.mark.parametrize("places", [1, 3])
def test_a_limit_of_active_files_leaves_the_mean_time_as_it_is(places):
    """M/M/1 with limited processor sharing: exponential sizes and a link that is never idle with work."""
    mean, found, realised = 10.0, [], []
    for seed in SEEDS:
        sizes = exponential(mean, N_TRANSFERS, seed)
        found.append(sojourns(sizes, seed, max_active_files=places).mean())
        realised.append(sizes.mean())
    assert_mean(np.array(found) / np.array(realised), 1 / (1 - LOAD))

"""Shares of a saturated grid: each uses what is its own by the tree, measured in HS06; siblings profit first."""

import numpy as np
import pytest
from builders import Stage, scenario
from queueing import assert_mean

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import share_order, statistics
from simgrid_broker.agents.run.samples import sampler

HOUR = 3600.0
JOB_S = 4200.0
"""Mean length of a job."""
SEEDS = range(4)
FLAT = [dict(name="A", value=10), dict(name="B", value=30), dict(name="C", value=60)]
NESTED = [dict(name="A", value=20), dict(name="P", value=80, children=[
    dict(name="P1", value=30), dict(name="P2", value=10, children=[dict(name="X", value=1), dict(name="Y", value=1)])])]
ONE_QUEUE = {"Q": dict(atlas_site="HERE")}


def used(shares, seed, jobs, queues=ONE_QUEUE, types=None, site=400, refresh_s=10.0, hours=14) -> np.ndarray:
    """Part of the power that each leaf uses, (n_leaves,), on average from the seventh hour on.

    jobs: for each leaf (number of jobs, pseudo-queue, cores); all wait from the start. Pilots come by unified pilot
    streaming to a site of so many cores; the order of shares is refreshed every `refresh_s`.
    """
    power = 10.0
    said = [dict(n_jobs=max(number, 1), share=leaf, corecount=cores, work_hs06s_per_event=JOB_S * power * cores,
                 work_spread=0.6, resource_type=int(cores > 1)) for leaf, (number, _, cores) in enumerate(jobs)]
    plan = scenario({"HERE": dict(cores=site)}, queues, shares=shares, seed=seed, duration=hours * HOUR,
                    resource_types=types or dict(SCORE=dict(mincore=1, maxcore=1)),
                    agents=dict(statistics=refresh_s, share_order=min(refresh_s, 10.0), pilot_streaming=120,
                                sampler=600))
    stage = Stage((statistics, share_order, pilot_streaming, harvester_submitter, sampler), plan, *said)
    for leaf, (number, queue, _) in enumerate(jobs):
        stage.submit(number, task=leaf, queue=queue)
    stage.run(hours * HOUR)
    rows = stage.recorded("shares")
    rows = rows[rows["time_s"] >= 7 * HOUR]
    hs06 = np.bincount(rows["share"], rows["hs06"])
    assert hs06.sum() > 0.95 * site * power * len(np.unique(rows["time_s"])), "the grid is not full"
    return hs06 / hs06.sum()


def assert_shares(found, expected, bias: float) -> None:
    """The parts of all leaves over the seeds are the expected ones, and nothing goes to a share without jobs.

    With 4 seeds four standard errors are exceeded by chance once in 35 choices of the seeds (Student, 3 degrees of
    freedom); they are a small part of `bias`, below which the rule itself does not share.
    """
    for leaf, part in enumerate(expected):
        parts = np.array(found)[:, leaf]
        if part == 0:
            assert not parts.any()
        else:
            assert_mean(parts, part, bias=bias)


def coarseness(site: int, refresh_s: float) -> float:
    """Part of all by which a share may be off: all starts between two refreshes go to one share, and a job is whole."""
    return (refresh_s / JOB_S * site + 1) / site


@pytest.mark.parametrize(("shares", "refresh_s", "targets"), [
    pytest.param(FLAT, 60.0, [0.1, 0.3, 0.6], id="a flat tree, in order once a minute"),
    pytest.param(NESTED, 10.0, [0.2, 0.6, 0.1, 0.1], id="a nested tree, in order every 10 s"),
])
def test_saturated_shares_get_their_targets(shares, targets, refresh_s):
    jobs = [(9_000, 0, 1)] * len(targets)
    found = [used(shares, seed, jobs, refresh_s=refresh_s) for seed in SEEDS]
    assert_shares(found, targets, coarseness(400, refresh_s))


@pytest.mark.parametrize(("dry", "targets"), [
    pytest.param(1, [0.2, 0.0, 0.4, 0.4], id="one of two siblings has nothing: the other gets all that is theirs"),
    pytest.param(2, [0.2, 0.6, 0.0, 0.2], id="the sibling on the lowest level comes first"),
    pytest.param(0, [0.0, 0.75, 0.125, 0.125], id="a share without siblings: all others in proportion"),
])
def test_what_a_share_does_not_use_goes_to_its_siblings_first(dry, targets):
    jobs = [(0 if leaf == dry else 9_000, 0, 1) for leaf in range(4)]
    assert_shares([used(NESTED, seed, jobs) for seed in SEEDS], targets, coarseness(400, 10.0))


def test_shares_of_different_core_counts_are_equal_in_power_and_not_in_jobs():
    queues = {"Q": dict(atlas_site="HERE", capability="ucore", corecount=8)}
    types = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
    jobs = [(60_000, 0, 1), (90_000, 0, 1), (20_000, 1, 8)]
    found = [used(FLAT, seed, jobs, queues, types, site=4000, refresh_s=60.0) for seed in SEEDS]
    # workers wait for hours in the batch system, and their types are those that were wanted when they came: the site
    # swings slowly about the targets, the more the smaller it is
    assert_shares(found, [0.1, 0.3, 0.6], bias=0.03)

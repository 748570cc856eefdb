"""A push queue whose jobs ask for more memory per core than intended gives out only small jobs for a while."""

import numpy as np
import pytest
from builders import S, Stage, put_job, scenario

from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.gdpconfig import meanrss
from simgrid_broker.policy.shares.dispatch import mean_memory_high
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.queues.statistics import mean_memory

pytestmark = pytest.mark.rule("mean_memory_high", "mean_memory")


def config(ignored=False) -> Gdpconfig:
    """gdpconfig of which the rule reads one key."""
    return Gdpconfig({("meanrss", "IGNORE_MEANRSS"): ignored})


@pytest.mark.parametrize(("target", "pushed", "running", "starting", "ignored", "expected"), [
    pytest.param(2000, True, 2000.5, np.nan, False, True, id="above the target"),
    pytest.param(2000, True, 2000, 2000, False, False, id="exactly at the target"),
    pytest.param(2000, True, 100, 2001, False, True, id="the starting jobs are enough"),
    pytest.param(2000, True, np.nan, np.nan, False, False, id="nothing runs"),
    pytest.param(0, True, 9000, 9000, False, False, id="no target"),
    pytest.param(2000, False, 9000, 9000, False, False, id="not a push queue"),
    pytest.param(2000, True, 9000, 9000, True, False, id="switched off"),
])
def test_the_mean_memory_of_a_push_queue_is_compared_with_its_target(target, pushed, running, starting, ignored,
                                                                     expected):
    assert meanrss.IGNORE_MEANRSS.key == "IGNORE_MEANRSS"
    found = mean_memory_high(*(np.array([value]) for value in (target, pushed, running, starting)), config(ignored))
    assert found.tolist() == [expected]


@pytest.mark.rule("statistics.statistics")
@pytest.mark.parametrize(("workflow", "target", "expected"), [
    ("push", 2000, 1), ("push", 1, 1), ("push", 0, 0), ("push_noheartbeat", 2000, 1), ("pull", 2000, 0),
    (None, 2000, 0)])
def test_the_statistics_note_push_queues_above_their_target(workflow, target, expected):
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", workflow=workflow, meanrss=target),
                            "PULLS": dict(atlas_site="HERE", meanrss=2000)})
    stage = Stage((statistics,), plan)
    put_job(stage, S.RUNNING, corecount=8, ramcount_mb=24000.0)
    put_job(stage, S.STARTING, corecount=1, ramcount_mb=1000.0)
    put_job(stage, S.ACTIVATED, corecount=1, ramcount_mb=9000.0)
    numbers = (stage.arrays.counts[..., status].sum(axis=(1, 2)) for status in (S.RUNNING, S.STARTING))
    assert [memory.tolist() for memory in mean_memory(stage.arrays, *numbers)] == [
        pytest.approx([3000, np.nan], nan_ok=True), pytest.approx([2000, np.nan], nan_ok=True)]
    stage.run(61)
    assert stage.arrays.queues["mean_memory_high"].tolist() == [expected, 0]

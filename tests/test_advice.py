"""What reads a key of gdpconfig follows from the code of the policies."""

from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.advice import readers
from simgrid_broker.gdpconfig import dbproxy, jobbroker, jobdispatch, rebroker
from simgrid_broker.gdpconfig.lifecycle import anal_job_throttler, prod_job_throttler, taskrefiner

MINIMAL = Path(__file__).parents[1] / "scenarios" / "minimal.yaml"


@pytest.mark.parametrize(("key", "expected"), [
    pytest.param(jobdispatch.SLOPPY_DISPATCH_RATIO, ("policy.dispatch.sloppy_fraction",), id="one function"),
    pytest.param(dbproxy.SCOUT_RAMCOUNT_RANK, ("policy.scouts.measured_cputime", "policy.scouts.measured_ramcount"),
                 id="two functions"),
    pytest.param(anal_job_throttler.NQUEUECAP, ("policy.throttle.throttle_limits",), id="a component chosen by label"),
    pytest.param(prod_job_throttler.NQUEUECAP, ("policy.throttle.throttle_limits",), id="and the other one"),
    pytest.param(rebroker.ANALY_TIMEOUT, ("policy.rebrokerage.patience",), id="the fallback of a family"),
    pytest.param(jobbroker.NW_THRESHOLD, ("policy.job_brokerage.network.low_network_weight",),
                 id="a compiled rule, from a column of its task"),
    pytest.param(jobbroker.NW_ACTIVE, ("policy.job_brokerage.network.low_network_weight",
                                       "policy.job_brokerage.network.network"), id="two compiled rules"),
    pytest.param(jobbroker.MIN_INPUT_COMPLETENESS, None, id="a column of the task that no rule reads"),
    pytest.param(taskrefiner.USER_JOB_TARGET_WALLTIME, None, id="a key that nothing reads"),
])
def test_a_key_is_read_by_the_public_functions_that_name_it(key, expected):
    assert readers().get(key) == expected


@pytest.mark.parametrize(("edition", "name", "said"), [
    pytest.param("documented", "USER_JOB_TARGET_WALLTIME", "nothing in the simulator reads it", id="no reader"),
    pytest.param("documented", "SLOPPY_DISPATCH_RATIO", "only the deployed edition reads it", id="another edition"),
    pytest.param("deployed", "SLOPPY_DISPATCH_RATIO", None, id="its edition"),
    pytest.param("documented", "THROTTLE_THRESHOLD", None, id="both editions"),
])
def test_settings_without_effect_are_remarked(edition, name, said):
    scenario = sb.load_scenario(MINIMAL).with_values({"edition": edition, f"gdpconfig.{name}": 7})
    about = [remark for remark in sb.remarks(scenario) if name in remark]
    assert about == ([f"gdpconfig key {name!r} has no effect: {said}."] if said else [])

"""What reads a key of gdpconfig follows from the code of the policies."""

from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.advice import editions_of, readers, settings_without_effect
from simgrid_broker.gdpconfig import dbproxy, jobbroker, jobdispatch, rebroker, taskbrokerage
from simgrid_broker.gdpconfig.components import anal_job_throttler, prod_job_throttler, taskrefiner
from simgrid_broker.names import EDITIONS

MINIMAL = Path(__file__).parents[1] / "scenarios" / "minimal.yaml"


@pytest.mark.parametrize(("key", "expected"), [
    pytest.param(jobdispatch.SLOPPY_DISPATCH_RATIO, ("policy.shares.dispatch.sloppy_fraction",), id="one function"),
    pytest.param(dbproxy.SCOUT_RAMCOUNT_RANK,
                 ("policy.tasks.measures.cputime_rank", "policy.tasks.measures.memory_keys"),
                 id="two functions"),
    pytest.param(anal_job_throttler.NQUEUECAP, ("policy.tasks.throttle.throttle_limits",),
                 id="a component chosen by label"),
    pytest.param(prod_job_throttler.NQUEUECAP, ("policy.tasks.throttle.throttle_limits",), id="and the other one"),
    pytest.param(rebroker.ANALY_TIMEOUT, ("policy.jobs.rebrokerage.patience",), id="the fallback of a family"),
    pytest.param(rebroker.FAST_REBRO_THRESHOLD_NQUEUE, ("policy.jobs.rebrokerage.Backlog.thresholds",),
                 id="a method of a class"),
    pytest.param(jobbroker.NW_THRESHOLD, ("policy.brokerage.production.network.low_network_weight",
                                          "policy.brokerage.production.network.low_network_weight_deployed"),
                 id="a compiled rule, from a column of its task"),
    pytest.param(jobbroker.NW_ACTIVE, ("policy.brokerage.production.broker.figures",
                                       "policy.brokerage.production.network.low_network_weight_deployed",
                                       "policy.brokerage.production.network.network"),
                 id="two compiled rules, and what tells the figures of one of them"),
    pytest.param(jobbroker.MIN_INPUT_COMPLETENESS, ("policy.brokerage.production.storage.enough_at",
                                                    "policy.brokerage.production.storage.input_incomplete",
                                                    "policy.brokerage.production.storage.readable"),
                 id="a compiled rule and plain functions"),
    pytest.param(taskrefiner.USER_TASKS_MESSAGE_DRIVEN_PERCENT, None, id="a key that nothing reads"),
])
def test_a_key_is_read_by_the_public_functions_that_name_it(key, expected):
    assert readers().get(key) == expected


BOTH, DEPLOYED = EDITIONS, ("deployed",)


@pytest.mark.parametrize(("key", "editions"), [
    pytest.param(jobbroker.NW_ACTIVE, DEPLOYED, id="a key that the documented edition sets for good"),
    pytest.param(jobbroker.NW_QUEUE_IMPORTANCE, DEPLOYED, id="another"),
    pytest.param(jobbroker.NW_THRESHOLD, BOTH, id="a key of a rule of both editions"),
    pytest.param(jobbroker.STORAGE_MIN_FREE_SIZE, DEPLOYED, id="documented: 200 GB, whatever the key"),
    pytest.param(jobbroker.NQUEUELIMITSITE, DEPLOYED, id="a key of the count of jobs"),
    pytest.param(jobbroker.MAX_PRIO_TO_BOOTSTRAP, DEPLOYED, id="a key of a factor"),
    pytest.param(jobbroker.MIN_WEIGHT, DEPLOYED, id="a key of a rule of one edition"),
    pytest.param(jobbroker.MAX_MISSING_INPUT_FILES, DEPLOYED, id="a key of a step of one edition"),
    pytest.param(jobbroker.MIN_INPUT_COMPLETENESS, DEPLOYED, id="another"),
    pytest.param(jobbroker.NQUEUED_SAT_CAP, BOTH, id="a key of two rules, one for each edition"),
    pytest.param(taskbrokerage.FREE_DISK_CUTOFF, BOTH, id="a key of two factors of task brokerage"),
    pytest.param(taskbrokerage.MAX_TASK_PRIO_WITH_LOCAL_DATA, BOTH, id="a key of what lifts a rule"),
    pytest.param(jobdispatch.SLOPPY_DISPATCH_RATIO, DEPLOYED, id="a key whose row names its edition"),
    pytest.param(taskrefiner.USER_TASKS_MESSAGE_DRIVEN_PERCENT, (), id="a key that nothing reads"),
])
def test_the_editions_that_read_a_key_follow_from_the_tuples_of_rules(key, editions):
    assert editions_of(key) == editions


def test_a_rule_of_both_editions_may_read_a_key_in_one():
    factor = "policy.brokerage.production.network.network"
    reading = {edition: {key.key for key, names in readers(edition).items() if factor in names} for edition in EDITIONS}
    assert reading == {"documented": set(), "deployed": {"NW_ACTIVE", "NW_QUEUE_IMPORTANCE", "NQUEUED_SAT_CAP"}}


@pytest.mark.parametrize(("edition", "name", "said"), [
    pytest.param("documented", "NQUEUELIMITSITE_Analysis", "only the deployed edition reads it", id="a family"),
    pytest.param("deployed", "NQUEUELIMITSITE_Analysis", None, id="a family in its edition"),
    pytest.param("documented", "MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE_managed", None, id="documented alone"),
    pytest.param("deployed", "MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE_managed", "only the documented edition reads it",
                 id="documented alone, in the other"),
    pytest.param("documented", "DATASET_LIFETIME_log", "nothing in the simulator reads it", id="no reader"),
    pytest.param("deployed", "USER_TASKS_MESSAGE_DRIVEN_PERCENT", "agents act on their periods, not on messages",
                 id="no reader, and why"),
    pytest.param("deployed", "BUILD_JOB_MAX_WALLTIME", None, id="of build jobs"),
    pytest.param("deployed", "MERGE_JOB_MAX_WALLTIME_user", "merge jobs have the maxtime of their queue as their limit",
                 id="of merge jobs"),
    pytest.param("documented", "USER_TRANSFER_LIMIT", "only the deployed edition reads it", id="of one edition"),
    pytest.param("deployed", "OUTPUT_CONTAINER_LIFETIME", "accounts say how long output counts, by output_lifetime",
                 id="said elsewhere"),
    pytest.param("documented", "SLOPPY_DISPATCH_RATIO", "only the deployed edition reads it", id="another edition"),
    pytest.param("deployed", "SLOPPY_DISPATCH_RATIO", None, id="its edition"),
    pytest.param("documented", "THROTTLE_THRESHOLD", None, id="both editions"),
    pytest.param("documented", "FAST_REBRO_THRESHOLD_NQNR_RATIO", None, id="read by a method"),
])
def test_settings_without_effect_are_remarked(edition, name, said):
    scenario = sb.load_scenario(MINIMAL).with_values({"edition": edition, f"gdpconfig.{name}": 1})
    about = [remark for remark in sb.remarks(scenario) if name in remark]
    assert about == ([f"gdpconfig key {name!r} has no effect: {said}."] if said else [])


def test_what_a_policy_of_another_package_reads_is_not_known():
    scenario = sb.load_scenario(MINIMAL).with_values({"gdpconfig.NW_ACTIVE": True})
    plugin = scenario.model_copy(update={"policies": scenario.policies.model_copy(update={"throttle": "gentle"})})
    assert next(settings_without_effect(plugin)) == (
        "gdpconfig key 'NW_ACTIVE' has no effect unless 'gentle' reads it: only the deployed edition reads it.")

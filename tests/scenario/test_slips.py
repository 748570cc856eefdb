"""Slips of hand are refused or remarked before a run, with what was probably meant."""

from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.scenario.checks.grid import more_work_than_cores, no_jobs_made, unusual_values

ROOT = Path(__file__).parents[2]
NORTH, SIMULATION, ANALYSIS = "grid.queues.NORTH", "workload.campaigns.simulation", "workload.users.analysis"
SLIPS = (
    ({f"{NORTH}.maxtime": 48}, "maxtime of queue 'NORTH' is 48 s; .* 48 h was probably meant"),
    ({f"{NORTH}.maxtime": 2}, "2 d was probably meant"),
    ({f"{NORTH}.maxrss": 16}, "maxrss of queue 'NORTH' is 16 MB; .* 16 GB was probably meant"),
    ({f"{NORTH}.maxrss": "16 MB"}, "16 GB was probably meant"),
    ({f"{NORTH}.maxrss": 16e9}, "bytes was probably meant"),
    ({f"{NORTH}.maxwdir": 20}, "maxwdir of queue 'NORTH' is 20 MB; .* 20 GB was probably meant"),
    ({f"{NORTH}.corepower": 0.012}, "corepower of queue 'NORTH' is 0.012 HS06; queues of CRIC have 8 to 27"),
    ({f"{SIMULATION}.offered_cores": 250_000}, "781 times the 320 cores .* 250 was probably meant"),
    ({f"{ANALYSIS}.memory_per_core": 2}, "memory_per_core of 'analysis' is 2 MB; .* 2 GB was probably meant"),
    ({f"{ANALYSIS}.input_per_job": 300}, "300 MB was probably meant"),
    ({f"{ANALYSIS}.ramcount": 2}, "ramcount of 'analysis' is 2 MB"),
    ({"grid.links.default.bandwidth": 10}, "bandwidth of links is 10 bytes/s; .* 10 Gb/s was probably meant"),
    ({"grid.sites.NORTH.memory_per_core": 4}, "memory_per_core of site 'NORTH' is 4 MB; .* 4 GB was probably meant"),
    ({"grid.sites.NORTH.stage_in_rate": 30}, "stage_in_rate of site 'NORTH' is 30 bytes/s; .* 30 MB/s was probably"),
    ({"gdpconfig.JOB_SUBMISSION": False}, "JOB_SUBMISSION is false, so that no jobs are made"),
    ({f"{SIMULATION}.failure_rate": 5}, "expected less than or equal to 1; did you mean '5%'"),
    ({"grid.sites.NORTH.failure_rate": 5}, "did you mean '5%'"),
    ({f"{NORTH}.site": "NORTH"}, "unknown key 'site'; did you mean 'atlas_site'"),
    ({f"{NORTH}.memory": "16 GB"}, "unknown key 'memory'; did you mean 'maxrss'"),
    ({f"{NORTH}.walltime": "48h"}, "unknown key 'walltime'; did you mean 'maxtime'"),
    ({f"{SIMULATION}.size": 5}, "unknown key 'size'; did you mean 'jobs_per_task' or 'input_per_job'"),
    ({f"{SIMULATION}.jobs": 5}, "unknown key 'jobs'; did you mean 'jobs_per_task'"),
    ({f"{ANALYSIS}.cores": 8}, "unknown key 'cores'; did you mean 'corecount' or 'offered_cores'"),
    ({f"{ANALYSIS}.events": 8}, "unknown key 'events'; did you mean 'events_per_job'"),
    ({"seeed": 3}, "did you mean 'seed'"),
    ({"edition": "deploied"}, "did you mean 'deployed'"),
    ({"shares.Produktion.value": 3}, "did you mean 'Production'"),
    ({"gdpconfig.NQUEUELIMITS": 3}, "unknown key"),
    ({"warm_up": "13h"}, "must be less than duration"),
    ({"duration": "12 hrs"}, "write a number of seconds or text such as '72h'"),
    ({"duration": 24, "warm_up": 0}, "duration of the run is 24 s; runs last hours to years. 24 h was probably meant"),
    ({"warm_up": 2}, "warm_up of the run is 2 s; .* 2 h was probably meant"),
    ({"duration": "tomorrow 12:00"}, "write .* such as '72h' or '1 d 12 h'; nothing reads a time of day"),
    ({"incidents": [dict(at="noon", what="site_outage", site="NORTH")]}, "'noon': is not a time; .* a time of day"),
    ({"incidents": [dict(at="day 1, 12:00", what="site_outage", site="NORTH")]}, "is not a time; .* a time of day"),
    ({"incidents": [dict(at=1, what="queue_status", queue="NORTH", status="closed")]},
     "unknown status of a queue; known are online, brokeroff, test, offline"),
    ({"incidents": [dict(at=1, what="site_outage", queue="NORTH")]}, "site_outage needs `site`"),
    ({"incidents": [dict(at=1, what="site_outage", site="NORHT")]}, "did you mean 'NORTH'"),
    ({"incidents": [dict(at=1, what="gdpconfig", key="NQUEUELIMITS", value=3)]}, "unknown key"),
    ({"incidents": [dict(at=1, what="site_outtage", site="NORTH")]}, "did you mean 'site_outage'"),
    ({f"{NORTH}.status": "closed"}, "expected 'online', 'brokeroff'"),
    ({f"{NORTH}.capability": "multicore"}, "did you mean 'ucore' or 'mcore'"),
    ({f"{NORTH}.atlas_site": "NORHT"}, "did you mean 'NORTH'"),
    ({"resource_types.MCORE.mincores": 2}, "did you mean 'mincore'"),
    ({f"{ANALYSIS}.share": "Analysis"}, "unknown key 'share'; did you mean 'gshare'"),
    ({f"{ANALYSIS}.gshare": "Analisys"}, "did you mean 'Analysis'"),
    ({f"{SIMULATION}.corecount": -8}, "expected"),
    ({"record.samples": "5 minutes"}, "unknown key"),
)


@pytest.fixture(scope="module")
def minimal():
    return sb.load_scenario(ROOT / "scenarios" / "minimal.yaml")


def remarks_on(scenario):
    """Remarks on slips in a scenario."""
    return [text for look in (unusual_values, more_work_than_cores, no_jobs_made) for text in look(scenario)]


@pytest.mark.parametrize(("values", "says"), SLIPS)
def test_a_slip_is_told_before_the_run(minimal, values, says):
    with pytest.raises(sb.ScenarioError, match=says):
        raise sb.ScenarioError(_as_problems(remarks_on(minimal.with_values(values))))


def _as_problems(texts):
    """Remarks as the problems of an error, so that one test reads both."""
    from simgrid_broker.errors import Problem
    return [Problem(None, None, "", None, text) for text in texts]


def test_a_snapshot_given_for_a_scenario_and_the_other_way_round_is_one_sentence():
    snapshot, scenario = (ROOT / "scenarios" / name for name in ("snapshot.yaml", "minimal.yaml"))
    with pytest.raises(sb.ScenarioError, match=r"^1 problem .*\n.*snapshot.yaml: is a snapshot, .*broker` says where"):
        sb.load_scenario(snapshot)
    with pytest.raises(sb.SnapshotError, match=r"^1 problem .*\n.*minimal.yaml: is a scenario: .*run` simulates it"):
        sb.load_snapshot(scenario)


def test_no_scenario_of_the_project_has_a_slip():
    bases = {"atlas", "shares_2018", "snapshot", "dirac_snapshot", "atlas_saturated"}
    for path in sorted((ROOT / "scenarios").glob("*.yaml")):
        if path.stem not in bases:
            assert remarks_on(sb.load_scenario(path)) == [], path.name


def test_what_is_zero_or_switched_on_later_is_no_slip(minimal):
    assert not remarks_on(minimal.with_values({f"{NORTH}.maxtime": 0, f"{NORTH}.maxrss": 0, f"{ANALYSIS}.ramcount": 0}))
    later = {"gdpconfig.JOB_SUBMISSION": False, "incidents": [
        dict(at=3600, what="gdpconfig", key="JOB_SUBMISSION", value=True)]}
    assert not remarks_on(minimal.with_values(later))


def test_a_unit_is_the_one_that_makes_a_value_like_the_others(minimal):
    hours = {f"grid.queues.{name}.maxtime": "2 d" for name in ("CENTRE", "SOUTH")}
    assert "3 d was probably meant" in remarks_on(minimal.with_values(hours | {f"{NORTH}.maxtime": 3}))[0]
    minutes = {f"grid.queues.{name}.maxtime": "50 min" for name in ("CENTRE", "SOUTH")}
    assert "40 min was probably meant" in remarks_on(minimal.with_values(minutes | {f"{NORTH}.maxtime": 40}))[0]

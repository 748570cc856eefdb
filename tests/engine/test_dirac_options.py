"""Runs with DIRAC's limits, delays, private pilots and share correction."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import simgrid_broker as sb
from simgrid_broker.names import JobStatus
from simgrid_broker.systems.dirac.dispatch import Usage
from simgrid_broker.systems.dirac.policy.priorities import Corrector, Slice

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def run(tmp_path, **changes):
    """Three hours of the example, with all invariants checked."""
    scenario = sb.load_scenario(SCENARIOS / "dispatch_dirac.yaml")
    return sb.simulate(scenario.with_values({"duration": "3h", "warm_up": 0, **changes}), out=tmp_path, validate=True)


def started(found, **values):
    """The jobs that began to run, of those with these values."""
    jobs = found.jobs[found.jobs.running_s.notna()]
    for name, value in values.items():
        jobs = jobs[jobs[name].astype(str) == value]
    return jobs


def most_at_once(jobs):
    """Most of these jobs that ran at once."""
    steps = sorted([(t, 1) for t in jobs.running_s] + [(t, -1) for t in jobs.holding_s.dropna()])
    at_once = most = 0
    for _, step in steps:
        at_once += step
        most = max(most, at_once)
    return most


@pytest.mark.rule("task_queues.look_at_limits", "task_queues.is_shut", "task_queues.note_match",
                  "dispatch.rows_of", "Limits.count")
def test_a_running_limit_and_a_delay_hold_at_their_sites_and_at_no_other(tmp_path):
    found = run(tmp_path, **{"dirac.operations.JobScheduling": dict(
        RunningLimit=dict(CENTRE=dict(OwnerGroup=dict(generation=7))),
        MatchingDelay=dict(NORTH=dict(JobType=dict(simul=1200))))})
    assert most_at_once(started(found, queue="CENTRE", share="Generation")) == 7
    assert most_at_once(started(found, queue="NORTH", share="Generation")) > 7
    starts = started(found, queue="NORTH", share="Simulation").running_s.sort_values()
    assert len(starts) > 5 and starts.diff().min() >= 1200
    assert started(found, queue="CENTRE", share="Simulation").running_s.sort_values().diff().min() < 1200


@pytest.mark.rule("CentralQueue._request")
def test_private_pilots_serve_their_user_and_generic_ones_the_groups_of_their_vo(tmp_path):
    found = run(tmp_path, duration="2h", **{
        "dirac.pilots.WEST": dict(group="user", username="analysis-0003"), "dirac.groups.simulation.vo": "sim",
        "dirac.pilots.SOUTH": dict(properties=["GenericPilot"], VO="sim")})
    assert set(started(found, queue="WEST").user) == {"analysis-0003"}
    assert set(started(found, queue="SOUTH").share) == {"Simulation"}
    assert started(found, queue="NORTH").share.nunique() == 3


@pytest.mark.rule("CentralQueue._request")
def test_private_pilots_serve_all_owners_of_a_group_with_job_sharing(tmp_path):
    found = run(tmp_path, duration="2h", **{"dirac.pilots.WEST": dict(group="user", username="analysis-0003"),
                                            "dirac.groups.user.job_sharing": True})
    assert set(started(found, queue="WEST").share) == {"Analysis"}
    assert started(found, queue="WEST").user.nunique() > 1


@pytest.mark.slow
def test_jobs_for_private_pilots_wait_for_these_as_documented(tmp_path):
    found = run(tmp_path, duration="2h", edition="documented", **{
        "dirac.groups.user.private_pilots": True, "dirac.pilots.WEST": dict(group="user", username="analysis-0003")})
    assert set(started(found, share="Analysis").queue) <= {"WEST"} and len(started(found))


CORRECTED = dict(EnableSharesCorrection=True, ShareCorrections=dict(
    ShareCorrectorsToStart="WMSHistory", WMSHistory=dict(all=dict(Hour=dict(TimeSpan=3600, MaxCorrection=3)))))


def test_use_changes_which_jobs_are_matched_from_the_first_reading_on(tmp_path):
    plain = run(tmp_path / "plain", duration="2h")
    found = run(tmp_path / "corrected", duration="2h", **{"dirac.operations.JobScheduling": CORRECTED})
    first, late = ([started(each).query(f"running_s {when}").set_index("panda_id").running_s.sort_index()
                    for each in (plain, found)] for when in ("<= 900", "> 900"))
    assert first[0].equals(first[1]) and not late[0].equals(late[1])


def a_world(status, share, user):
    """Jobs of two shares, A and B, and of the users ada and bob, by their numbers."""
    jobs = np.zeros(len(status), [("panda_id", "i8"), ("status", "i4"), ("share", "i4"), ("user", "i4")])
    jobs["panda_id"], jobs["status"], jobs["share"], jobs["user"] = 1, status, share, user
    return SimpleNamespace(arrays=SimpleNamespace(jobs=jobs), vocabularies=dict(users=["ada", "bob"]))


@pytest.mark.rule("Usage.look")
def test_use_is_the_mean_number_of_running_jobs_in_a_slice_read_every_900_s():
    running, waiting = int(JobStatus.RUNNING), int(JobStatus.ACTIVATED)
    world = a_world([running, running, waiting], [0, 1, 0], [0, 1, 1])
    correctors = [Corrector("", (Slice(1000, 1, 3),), 5), Corrector("B", (Slice(5000, 1, 3),), 5)]
    usage = Usage(world, correctors, ["A", "B"], np.array([0, 1]))
    usage.look(0.0)
    assert usage.read == {}
    usage.look(900.0)
    assert usage.read == {(1000, ""): dict(A=1, B=1), (5000, "B"): dict(bob=1)}
    world.arrays.jobs["status"][1] = waiting
    usage.look(1000.0)
    assert usage.read[1000, ""] == dict(A=1, B=1)                  # not read again before 1800 s
    usage.look(1800.0)
    assert usage.read[1000, ""] == dict(A=1, B=pytest.approx(1000 / 1800))
    usage.look(2700.0)
    usage.look(3600.0)
    assert usage.read[1000, ""] == dict(A=1) and usage.read[5000, "B"] == dict(bob=pytest.approx(1000 / 3600))


@pytest.mark.parametrize(("values", "message"), [
    (dict(RunningLimit=dict(CENTER={})), r"RunningLimit.CENTER.*unknown site; did you mean 'CENTRE'\?"),
    (dict(RunningLimit=dict(CENTRE=dict(JobTyp={}))), "expected Owner, OwnerGroup, JobType; did you mean 'JobType'"),
    (dict(RunningLimit=dict(CENTRE=dict(OwnerGroup=dict(simulaton=3)))), "unknown group; did you mean 'simulation'"),
    (dict(RunningLimit=dict(CENTRE=dict(CEs=dict(CENTER={})))), "unknown queue; did you mean 'CENTRE'"),
    (dict(MatchingDelay=dict(NORTH=dict(JobType=dict(simul="x")))), "expected a number of seconds")])
def test_limits_of_what_is_not_there_are_refused(values, message):
    with pytest.raises(sb.ScenarioError, match=message):
        sb.load_scenario(SCENARIOS / "dispatch_dirac.yaml").with_values({"dirac.operations.JobScheduling": values})


@pytest.mark.parametrize(("values", "message"), [
    ({"dirac.pilots.WST": dict(group="user")}, "unknown queue; did you mean 'WEST'"),
    ({"dirac.pilots.WEST": dict(group="usr")}, "a private pilot needs the name of a group; did you mean 'user'")])
def test_pilots_of_nobody_are_refused(values, message):
    with pytest.raises(sb.ScenarioError, match=message):
        sb.load_scenario(SCENARIOS / "dispatch_dirac.yaml").with_values(values)


@pytest.mark.parametrize(("values", "remark"), [
    ({"dirac.operations.JobScheduling": dict(RuningLimit={})}, "no effect; did you mean 'RunningLimit'"),
    ({"dirac.operations.JobScheduling": dict(RunningLimit={}), "edition": "documented"}, "which has no limits"),
    ({"dirac.groups.user.private_pilots": True}, "only the documented edition reads it"),
    ({"dirac.groups.user.allow_background": True, "edition": "documented"}, "only the deployed edition reads it")])
def test_options_without_effect_are_remarked(values, remark):
    found = sb.remarks(sb.load_scenario(SCENARIOS / "dispatch_dirac.yaml").with_values(values))
    assert sum(remark in each for each in found) == 1

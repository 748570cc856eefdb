"""Whole runs with DIRAC's dispatch: jobs wait for a pilot of any queue that can run them."""

from pathlib import Path

import pytest

import simgrid_broker as sb

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def run(tmp_path, name="dispatch_dirac", **changes):
    """A short run of a scenario, with all invariants checked."""
    scenario = sb.load_scenario(SCENARIOS / f"{name}.yaml").with_values({"duration": "5h", "warm_up": 0, **changes})
    return sb.simulate(scenario, out=tmp_path, validate=True)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The example for five hours."""
    return run(tmp_path_factory.mktemp("results"))


@pytest.mark.rule("dispatch.matched_job", "submission.bind_late", "dispatch.for_any_queue",
                  "dirac.dispatch.task_queues", "dirac.dispatch.site_director")
def test_jobs_of_a_task_run_at_every_site_that_can_run_them(short):
    started = short.jobs[short.jobs.running_s.notna()]
    sites = started.groupby("jeditaskid")["queue"].nunique()
    assert sites.max() == 4 and set(started.queue) == {"CENTRE", "NORTH", "SOUTH", "WEST"}
    assert (started.corecount == started.share.astype(str).eq("Simulation") * 7 + 1).all()


def test_the_work_of_a_job_is_the_same_wherever_it_runs(short, tmp_path):
    other = run(tmp_path, "dispatch_panda")
    keys = ["jeditaskid", "chunk", "attempt"]
    both = short.jobs.merge(other.jobs, on=keys, suffixes=("", "_panda"))
    both = both[both.cputime_s.gt(0) & both.cputime_s_panda.gt(0) & both.status.eq("finished")
                & both.status_panda.eq("finished")]
    power = dict(CENTRE=10, NORTH=12, SOUTH=8, WEST=10)
    queue, queue_panda = both.queue.astype(str), both.queue_panda.astype(str)
    equal = both[(queue != queue_panda) & (queue.map(power) == queue_panda.map(power))]
    assert len(equal) > 5 and equal.cputime_s.to_numpy() == pytest.approx(equal.cputime_s_panda.to_numpy())
    assert both.maxpss_mb.to_numpy() == pytest.approx(both.maxpss_mb_panda.to_numpy())


def test_only_queues_that_can_run_a_job_get_it(tmp_path):
    found = run(tmp_path, **{"grid.queues.WEST.maxrss": "1 GB", "grid.queues.SOUTH.status": "offline"})
    started = found.jobs[found.jobs.running_s.notna()]
    assert set(started.queue) <= {"CENTRE", "NORTH", "WEST"}
    assert not (started.queue.astype(str).eq("WEST") & started.share.astype(str).eq("Analysis")).any()


@pytest.mark.rule("dispatch.input_elsewhere")
def test_jobs_with_input_run_where_all_of_it_is(tmp_path):
    found = run(tmp_path, "minimal", dispatch="dirac")
    assert set(found.jobs.queue) == {"CENTRE"} and (found.jobs.status == "finished").any()


def test_the_documented_edition_runs_the_longest_jobs_first(short, tmp_path):
    found = run(tmp_path, edition="documented")
    assert (found.jobs.status == "finished").sum() > 100
    waiting = found.jobs[found.jobs.status == "activated"].groupby("share", observed=True).size()
    assert waiting.sum() > 0


def test_merge_jobs_wait_at_the_queue_that_has_their_files(tmp_path):
    found = run(tmp_path, "merging", dispatch="dirac", edition="deployed", duration="4h")
    assert (found.jobs.status == "finished").sum() > 50


@pytest.mark.parametrize(("values", "message"), [
    ({"dirac.groups": {"g": {"shares": ["Simulaton"]}}}, "unknown leaf share; did you mean 'Simulation'?"),
    ({"dirac.groups": {"g": {"shares": ["Analysis"]}, "h": {"shares": ["Analysis"]}}}, "belongs to the group 'g'"),
    ({"dispatch": "panda"}, "has no effect without `dispatch: dirac`"),
    ({"dispatch": "condor"}, "expected 'panda' or 'dirac'"),
    ({"policies.job_brokerage": "own"}, "is not asked: with `dispatch: dirac`"),
    ({"policies.analysis_brokerage": "own"}, "is not asked: with `dispatch: dirac`"),
    ({"dirac.groups.user.jobshare": 3}, "unknown key 'jobshare'; did you mean 'job_share'")])
def test_groups_that_make_no_sense_are_refused(values, message):
    with pytest.raises(sb.ScenarioError, match=message):
        sb.load_scenario(SCENARIOS / "dispatch_dirac.yaml").with_values(values)

"""Sites that fail and come back: slots, silent jobs, links."""

import pytest
from builders import Bench, S, scenario, two_sites

from simgrid_broker.names import Cause


def running_site(**others) -> Bench:
    """Site HERE with two running jobs and one that waits, at 30 s; site THERE runs one."""
    bench = Bench(two_sites(here=dict(cores=2), there=dict(cores=1), **others), dict(n_jobs=9))
    bench.submit(3)
    bench.workers(3)
    bench.submit(1, queue=1)
    bench.workers(1, queue=1)
    bench.run(30.0)
    assert bench.statuses() == ["running", "running", "activated", "running"]
    return bench


def test_jobs_of_a_lost_site_fall_silent_and_go_on_being_counted():
    bench = running_site()
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(500.0)
    assert bench.statuses() == ["running", "running", "activated", "holding"]
    assert bench.arrays.pseudo_queues["n_running"].tolist() == [0, 0]
    assert bench.arrays.pools["free_cores"].tolist() == [2, 1]
    assert bench.arrays.counts[0, 0, 0, S.RUNNING] == 2
    bench.check()


def test_a_silent_job_ends_when_it_is_taken_back_and_counts_the_time_until_it_fell_silent():
    bench = running_site()
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(8000.0)
    bench.take_back(bench.live()[0], S.FAILED, Cause.LOST_HEARTBEAT)
    job = bench.ended()[0]
    assert (job["status"], job["cause"], job["walltime_s"]) == (S.FAILED, Cause.LOST_HEARTBEAT, 30.0)
    assert bench.arrays.tasks["lost_walltime_s"][0] == 30.0
    assert bench.arrays.pools["free_cores"].tolist() == [2, 1]         # it was free already
    bench.check()


def test_no_worker_starts_at_a_lost_site():
    bench = running_site()
    bench.fabric.site_goes_down(0, 30.0)
    bench.workers(5)
    bench.run(1000.0)
    assert bench.arrays.pseudo_queues[["n_submitted", "n_running"]].tolist()[0] == (6, 0)
    bench.fabric.site_comes_back(0, 1000.0)
    assert bench.arrays.pseudo_queues[["n_submitted", "n_running"]].tolist()[0] == (4, 2)
    bench.run(1000.0)
    assert bench.statuses() == ["running", "running", "running", "holding"]    # two are silent, one has just begun
    bench.check()


def test_a_pilot_that_was_starting_is_lost_with_its_site():
    bench = Bench(scenario(agents=dict(pilot_startup=60)))
    bench.submit()
    bench.workers()
    bench.run(30.0)
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(100.0)
    assert bench.statuses() == ["activated"]
    assert bench.world.state["n_pilots"] == 0
    bench.check()


def test_an_idle_pilot_of_a_lost_site_leaves_as_it_would_have():
    bench = Bench()
    bench.workers()
    bench.run(30.0)
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(1000.0)
    assert bench.world.state["n_pilots"] == 0
    bench.check()


@pytest.mark.parametrize(("events", "up_from"), [
    pytest.param([("site", 0, 10, 50)], 50, id="the site's own end"),
    pytest.param([("site", 1, 10, 50)], 50, id="the other end"),
    pytest.param([("site", 0, 10, 50), ("site", 1, 20, 80)], 80, id="both ends: until the last is back"),
    pytest.param([("site", 0, 10, 50), ("link", None, 20, 80)], 80, id="a link that is out longer than its site"),
    pytest.param([("site", 0, 10, 80), ("link", None, 20, 50)], 80, id="a site that is out longer than its link"),
    pytest.param([("site", 0, 10, 80), ("site", 0, 20, 50)], 80, id="an outage within another of the same site"),
])
def test_a_link_is_up_when_nothing_keeps_it_down(events, up_from):
    bench = Bench(two_sites(), dict(input_bytes_per_job=1e6, replicas={1: 1.0}))
    moments = []
    for what, site, start, end in events:
        moments += [(start, what, "down", site), (end, what, "up", site)]
    for now, what, way, site in sorted(moments, key=lambda moment: moment[0]):
        bench.run(float(now))
        if what == "site":
            (bench.fabric.site_goes_down if way == "down" else bench.fabric.site_comes_back)(site, bench.now)
        else:
            (bench.fabric.link_goes_down if way == "down" else bench.fabric.link_comes_back)(1, 0, bench.now)
        if now == 10:
            bench.submit()
    bench.run(1000.0)
    assert bench.arrays.job_times[bench.live()[0], S.ACTIVATED] == pytest.approx(up_from + 1)
    assert not bench.arrays.links["down"].any() and not bench.arrays.sites["down"].any()
    assert not bench.arrays.pools["closed"].any()
    bench.check()


def test_a_site_stays_closed_until_its_last_outage_is_over():
    bench = Bench()
    bench.fabric.site_goes_down(0, 0.0)
    bench.fabric.site_goes_down(0, 0.0)
    bench.fabric.site_comes_back(0, 0.0)
    bench.workers()
    assert bench.arrays.pseudo_queues["n_running"].tolist() == [0]
    bench.fabric.site_comes_back(0, 0.0)
    assert bench.arrays.pseudo_queues["n_running"].tolist() == [1]


def test_a_new_priority_reaches_jobs_in_every_status():
    bench = running_site()
    bench.fabric.set_priority([0], 77)
    assert set(bench.arrays.jobs["priority"][bench.live()].tolist()) == {77}
    bench.check()

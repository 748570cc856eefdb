"""Slots that the batch system takes away: by the hour of the day, with a window, at the end of a gap that they fill."""

import numpy as np
import pytest
from builders import Bench, scenario

from simgrid_broker.errors import ScenarioError
from simgrid_broker.fabric.jobs.early_ends import LONGEST_DAYS, time_of_hazard
from simgrid_broker.names import Cause
from simgrid_broker.scenario.checks.cross_checks import remarks
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.world.queues.slots import AHEAD_S, window_left

PAYLOAD_S = 100.0
"""Wall time of a job of `Bench`: 1000 HS06 s at 10 HS06."""


def site(**queue) -> Bench:
    """A single-core queue of ten cores of its own, with 20 tasks of a job each."""
    queues = {"HERE": dict(atlas_site="HERE", cores=10) | queue}
    return Bench(scenario(queues=queues), *[dict(max_attempt=1) for _ in range(20)])


def ended(bench, jobs, until) -> list[tuple[float, str]]:
    """Wall time and cause of the jobs of as many tasks by a time."""
    for task in range(jobs):
        bench.submit(task=task)
    bench.workers(jobs)
    bench.run(until)
    bench.collect()
    bench.check()
    return sorted((round(float(job["walltime_s"]), 3), Cause(job["cause"]).word) for job in bench.ended())


@pytest.mark.rule("time_of_hazard")
@pytest.mark.parametrize(("hours", "now", "hazard", "after"), [
    pytest.param({}, 0.0, 1.0, HOUR, id="the same all day"),
    pytest.param({0: 0.0}, 0.0, 1.0, 2 * HOUR, id="never in the first hour"),
    pytest.param({0: 0.0}, HOUR / 2, 1.0, 1.5 * HOUR, id="of which half is over"),
    pytest.param({1: 4.0}, 0.0, 3.0, 1.5 * HOUR, id="four times as often in the second hour"),
    pytest.param({}, 5 * HOUR, 24.0, DAY, id="a whole day"),
    pytest.param(dict.fromkeys(range(1, 24), 0.0), 2 * HOUR, 2.5, 22 * HOUR + 2 * DAY + HOUR / 2,
                 id="in one hour of the day alone"),
    pytest.param({}, 0.0, 0.0, 0.0, id="at once"),
])
def test_hazard_by_hour(hours, now, hazard, after):
    rates = np.full(24, 1 / HOUR)
    for hour, factor in hours.items():
        rates[hour] = factor / HOUR
    assert time_of_hazard(rates, hazard, now) == pytest.approx(after)


@pytest.mark.rule("time_of_hazard")
@pytest.mark.parametrize("now", [0.0, 32_000.123456789, 3e11])
def test_a_hazard_that_adds_up_after_a_century_never_comes(now):
    of_century = np.eye(24)[23] / HOUR / LONGEST_DAYS
    assert time_of_hazard(of_century, 1.01, now) == np.inf
    assert time_of_hazard(of_century, 0.99, now) == pytest.approx(0.99 * LONGEST_DAYS * DAY, abs=DAY)
    assert time_of_hazard(of_century * 1e-300, 1e-9, now) == np.inf


@pytest.mark.rule("evict")
def test_slots_are_taken_in_the_hours_that_have_a_hazard():
    """All at once in the second hour of the day, and none before."""
    first, second = ({"eviction_rate": 3600, "eviction_by_hour": [1.0 * (hour == at) for hour in range(24)],
                      "eviction_notice": 0} for at in (0, 1))
    assert {cause for _, cause in ended(site(**first), 5, HOUR)} == {"preempted"}
    assert ended(site(**second), 5, HOUR) == [(PAYLOAD_S, "none")] * 5


@pytest.mark.rule("life_left", "keeps_slot", "evict")
@pytest.mark.parametrize(("queue", "expected"), [
    pytest.param(dict(slot_life=PAYLOAD_S, eviction_notice=0), (PAYLOAD_S, "none"), id="the gap is as long as the job"),
    pytest.param(dict(slot_life=60, eviction_notice=0), (60, "preempted"), id="it ends with the slot"),
    pytest.param(dict(slot_life=60, eviction_notice=20), (40, "preempted"), id="with notice"),
    pytest.param(dict(slot_life=60, eviction_notice=90), (0, "preempted"), id="at once where the notice is longer"),
])
def test_slots_that_fill_gaps(queue, expected):
    bench = site(timefloor=60, **queue)
    assert ended(bench, 15, 1e4) == [expected] * 15
    assert bench.arrays.state[0]["n_pilots_ever"] == 15, "one job each"


@pytest.mark.rule("life_left")
def test_gaps_of_several_lengths():
    """Half of the gaps are shorter than the median; what is not heard of counts as running."""
    bench = site(slot_life=PAYLOAD_S, slot_life_spread=1)
    lost = 20 - len(ended(bench, 20, 1e4))
    assert 3 <= lost <= 17
    assert bench.statuses() == ["running"] * lost


@pytest.mark.rule("window_left")
@pytest.mark.parametrize(("now", "left"), [
    (0.0, 0.0), (9.0, 0.0), (10.0, 30.0), (39.0, 1.0), (40.0, 0.0), (109.0, 0.0), (110.0, 30.0), (1e5 + 25.0, 15.0)])
def test_window(now, left):
    queue = site(window=dict(begins=10, lasts=30, every=100)).arrays.queues[0]
    assert window_left(queue, now) == pytest.approx(left, abs=1e-5)
    once = site(window=dict(begins=10, lasts=30)).arrays.queues[0]
    assert window_left(once, now) == pytest.approx(left if now < 110 else 0.0, abs=1e-5)


@pytest.mark.rule("turn_windows", "settle_closed", "keeps_slot")
@pytest.mark.parametrize(("notice", "expected"), [
    pytest.param(None, [], id="without a word: the ten jobs count as running"),
    pytest.param(0, [(30.0, "preempted")] * 10, id="at the end of the window"),
    pytest.param(5, [(25.0, "preempted")] * 10, id="with notice, after which no worker starts")])
def test_all_slots_go_with_the_window(notice, expected):
    window = dict(begins=50, lasts=30, every=1000)
    bench = site(window=window, eviction_notice=notice, timefloor=60)
    bench.fabric.turn_windows(0.0)
    assert ended(bench, 20, 49.0) == [] and bench.statuses() == ["activated"] * 20
    for moment in (50.0, 80.0 - (notice or 0) - AHEAD_S):
        bench.run(moment)
        bench.fabric.turn_windows(moment)
    bench.run(999.0)
    bench.collect()
    assert sorted((round(float(job["walltime_s"]), 3), Cause(job["cause"]).word) for job in bench.ended()) == expected
    assert bench.statuses().count("activated") == 10, "nothing starts in a closed window"
    bench.run(1050.0)
    bench.fabric.turn_windows(1050.0)
    bench.run(1060.0)
    assert bench.statuses().count("activated") == 0, "it opens again"
    bench.check()


@pytest.mark.rule("settle_closed")
def test_the_end_of_an_outage_opens_no_closed_window():
    bench = site(window=dict(begins=500, lasts=100))
    bench.fabric.site_goes_down(0, 10.0)
    bench.fabric.site_comes_back(0, 20.0)
    assert ended(bench, 5, 499.0) == [] and bench.statuses() == ["activated"] * 5


@pytest.mark.parametrize(("queue", "message"), [
    (dict(eviction_rate=1, eviction_by_hour=[1.0] * 23), "23 numbers"),
    (dict(eviction_by_hour=[1.0] * 24), "needs an eviction_rate"),
    (dict(eviction_rate=1, eviction_by_hour=[0.0] * 24), "one number above 0"),
    (dict(slot_life_spread=1), "needs slot_life"), (dict(slot_life=0), "greater than 0"),
    (dict(window=dict(lasts=3600, every=3600)), "below `every`"), (dict(window=dict(lasts=60), cores=None), "`cores`"),
    (dict(window=dict(lasts=60), eviction_notice=60), "no payload would run")])
def test_mistakes(queue, message):
    with pytest.raises(ScenarioError, match=message):
        site(**queue)


def test_a_notice_of_nothing_is_remarked():
    def told(**queue):
        return [one for one in remarks(scenario(queues={"HERE": dict(atlas_site="HERE", **queue)})) if "notice" in one]
    assert len(told(eviction_notice=60)) == 1 and not told(eviction_notice=60, eviction_rate=1)

"""A task that claims too little CPU time: with the retry module's rule its jobs leave the queue that is too short."""

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import Scenario

RULE = dict(errorsource="pilotErrorCode", errorcode=1213, retryaction="increase_cputime")


def plan(rules, edition="documented") -> Scenario:
    """Jobs of five hours that claim half an hour, a queue of two hours and one of two days."""
    site = dict(tier=2, cores=160, failure_rate=0)
    queue = dict(corepower=10, maxrss="32 GB")
    campaign = dict(name="long", corecount=8, events_per_job=100, hs06sec_per_event=14_000, work_spread=0,
                    cputime_ratio=0.1, cpu_efficiency=1, failure_rate=0, jobs_per_task=40, memory_per_core=500,
                    offered_cores=160)
    return Scenario.from_dict(dict(
        name="short_queue", edition=edition, duration="38h", retry_rules=rules, shares=[dict(name="All", value=1)],
        workload=dict(campaigns=[campaign]), grid=dict(
            sites={"SHORT": site | dict(nucleus=True), "LONG": site},
            queues={"SHORT": queue | dict(atlas_site="SHORT", maxtime="2h"),
                    "LONG": queue | dict(atlas_site="LONG", maxtime="48h")},
            storages={name: dict(site=name, total=1e15, free=1e15) for name in ("SHORT", "LONG")},
            links=dict(default=dict(bandwidth="10 Gb/s")))))


FIRST_FAILURE = float(int((7200 - 600) * 80 * 1.1 / 0.9 * 1.5 / 100))
"""CPU time of an event after the first failure in the code, which has a factor of 1.1 and divides by the efficiency."""


@pytest.fixture(scope="module", params=[([RULE], "documented"), ([RULE], "deployed"), ([], "deployed")],
                ids=["with the rule", "with the rule of the code", "without"])
def run(request, tmp_path_factory):
    """A day and a half with and without the rule."""
    rules, edition = request.param
    raised = (7200 - 600) * 80 * 0.9 * 1.5 / 100 if edition == "documented" else FIRST_FAILURE
    return raised if rules else None, simulate(plan(*request.param), folder=tmp_path_factory.mktemp("short") / "run",
                                               validate=True)


@pytest.mark.rule("Scouts.measure_again")
def test_jobs_go_where_there_is_time(run):
    raised, run = run
    jobs = run.jobs.merge(run.table("tasks", ["jeditaskid", "cputime"]), on="jeditaskid")
    killed = jobs[jobs.cause == "walltime_exceeded"]
    assert len(killed) > 5 and set(killed.queue) == {"SHORT"}
    again = jobs[jobs.old_panda_id.isin(killed.panda_id)]
    assert len(again) > 5
    assert set(again.queue) == ({"LONG"} if raised else {"SHORT", "LONG"})
    assert set(jobs.cputime.round(6)) == {1400.0, raised or 1400.0}

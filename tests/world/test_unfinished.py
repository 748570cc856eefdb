"""Jobs that are alive and transfers that are under way at the end of a run are recorded without what is to come."""

import numpy as np
from builders import Bench, S, two_sites

from simgrid_broker.names import Cause
from simgrid_broker.world.series import unfinished_jobs, unfinished_transfers


def test_the_outcome_of_a_running_job_is_not_recorded():
    bench = Bench(None, dict(n_jobs=9, failure_rate=1.0, output_bytes_per_job=1e9))
    bench.submit(9)
    bench.workers(8)
    bench.run(5.0)
    [(jobs, times)] = unfinished_jobs(bench.arrays, 5.0)
    running = jobs["status"] == S.RUNNING
    assert running.sum() == 8 and len(jobs) == len(times) == 9
    assert set(jobs["cause"][running].tolist()) == {Cause.NONE}
    assert set(jobs[["walltime_s", "cputime_s", "stage_out_s"]][running].tolist()) == {(5.0, 0.0, 0.0)}
    assert (bench.arrays.jobs["cause"][bench.live()[:8]] == Cause.PAYLOAD_ERROR).all()     # the world goes on knowing


def test_what_has_ended_is_known():
    bench = Bench()
    bench.submit()
    bench.workers()
    bench.run(500.0)
    [(jobs, _)] = unfinished_jobs(bench.arrays, 500.0)
    assert jobs[["status", "walltime_s", "cputime_s"]].tolist() == [(S.HOLDING, 100.0, 100.0)]


def test_a_silent_job_has_run_until_its_site_failed():
    bench = Bench(two_sites())
    bench.submit()
    bench.workers()
    bench.run(30.0)
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(500.0)
    [(jobs, _)] = unfinished_jobs(bench.arrays, 500.0)
    assert jobs["walltime_s"].tolist() == [30.0]


def test_transfers_under_way_have_not_ended():
    far = dict(input_bytes_per_job=100e6, replicas={1: 1.0})
    bench = Bench(two_sites(link=dict(bandwidth=1e6, max_active_files=1)), *[far] * 4)
    for task in range(3):
        bench.submit(task=task)
    bench.run(150.0)                                       # the first has ended, the second is under way
    bench.submit(task=3)                                   # takes the row of the first
    found = unfinished_transfers(bench.arrays)
    assert found["transfer_id"].tolist() == [2, 3, 4] and found["jeditaskid"].tolist() == [2, 3, 4]
    assert np.isnan(found["ended_s"]).all()
    assert np.isnan(found["started_s"]).tolist() == [False, True, True]
    assert len(bench.moved()) == 1 and np.isfinite(bench.moved()["ended_s"]).all()

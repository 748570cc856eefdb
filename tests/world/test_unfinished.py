"""Jobs that are alive at the end of a run are recorded without what is still to come."""

from builders import Bench, S, two_sites

from simgrid_broker.names import Cause
from simgrid_broker.world.unfinished import unfinished_jobs


def test_nobody_knows_how_a_running_job_will_end():
    bench = Bench(None, dict(n_jobs=9, failure_rate=1.0, output_bytes_per_job=1e9))
    bench.submit(9)
    bench.workers(8)
    bench.run(5.0)
    jobs, times = unfinished_jobs(bench.arrays, 5.0)
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
    jobs, _ = unfinished_jobs(bench.arrays, 500.0)
    assert jobs[["status", "walltime_s", "cputime_s"]].tolist() == [(S.HOLDING, 100.0, 100.0)]


def test_a_silent_job_has_run_until_its_site_failed():
    bench = Bench(two_sites())
    bench.submit()
    bench.workers()
    bench.run(30.0)
    bench.fabric.site_goes_down(0, 30.0)
    bench.run(500.0)
    assert unfinished_jobs(bench.arrays, 500.0)[0]["walltime_s"].tolist() == [30.0]

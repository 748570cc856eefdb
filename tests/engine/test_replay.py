"""A recorded workload on a grid that fails: the replay adds no failures of its own."""

from builders import scenario

import simgrid_broker as sb

RECORD = "{job} {submit} -1 600 1 -1 -1 1 900 -1 1 1 1 -1 -1 1 -1 -1"


def test_recorded_jobs_meet_no_invented_site_failures(tmp_path):
    trace = tmp_path / "trace.swf"
    trace.write_text("\n".join(RECORD.format(job=k + 1, submit=60 * k) for k in range(10)))
    plan = scenario(duration=12 * 3600, warm_up=0, workload={"trace": {"file": str(trace)}}).with_values(
        {"grid.sites.HERE.failure_rate": 1.0})
    jobs = sb.simulate(plan, tmp_path / "results", validate=True).jobs
    assert len(jobs) == 10 and (jobs.status == "finished").all()
    assert (jobs.walltime_s.round() == 600).all()

"""A storage that is full, switched off for reading or writing over LAN or WAN, or gone: transfers stop, jobs fail."""

import pytest
from builders import Bench, Stage, two_sites

from simgrid_broker.agents.run.timeline import timeline
from simgrid_broker.names import Cause

MB = 1e6
DISK = dict(total=1e12, free=1e12)


def stage_of(*incidents, here=None, input_at=1, output=0.0, rate=None, **task):
    """A job of a MB of input at HERE; its input lies at THERE unless it lies here; links move a MB/s."""
    disks = dict(HERE_DISK=dict(site="HERE", **DISK) | (here or {}), THERE_DISK=dict(site="THERE", **DISK))
    site = dict(stage_in_rate=rate or 1e9)
    said = two_sites(here=site, there=dict(nucleus=False), link=dict(bandwidth=MB), storages=disks,
                     incidents=list(incidents))
    return Stage((timeline,), said, dict(input_bytes_per_job=10 * MB, replicas={input_at: 1.0},
                                         output_bytes_per_job=output) | task)


def status(activity, value="OFF", at=5.0, storage="HERE_DISK", **until):
    """An incident that gives an activity of a storage a status."""
    return dict(at=at, what="storage_status", storage=storage, activity=activity, status=value) | until


def causes(stage):
    """Why each attempt that has ended did so."""
    return [Cause(job["cause"]).word for job in stage.ended()]


@pytest.mark.rule("storage_is_switched")
@pytest.mark.parametrize(("incident", "statuses"), [
    pytest.param([], ["activated"], id="nothing happens"),
    pytest.param([status("write_wan")], ["assigned"], id="the destination takes nothing over WAN"),
    pytest.param([status("read_wan", storage="THERE_DISK")], ["assigned"], id="the source sends nothing over WAN"),
    pytest.param([status("write_wan", "TEST")], ["assigned"], id="TEST is closed to all but tests"),
    pytest.param([status("read_wan")], ["activated"], id="the destination need not send"),
    pytest.param([status("write_lan")], ["activated"], id="LAN is not WAN"),
    pytest.param([dict(at=5.0, what="storage_outage", storage="THERE_DISK")], ["assigned"], id="the source is gone"),
    pytest.param([status("write_wan", until=1000.0)], ["assigned"], id="it is off for a while"),
])
def test_transfers_stop_where_wan_is_off(incident, statuses):
    stage = stage_of(*incident)
    stage.submit()
    stage.run(100.0)
    assert stage.statuses() == statuses
    stage.check()
    if incident and "until" in incident[0]:
        stage.run(1010.0 - 0.01)
        assert stage.statuses() == ["assigned"]
        stage.run(1010.0 + 0.01)                           # the file of 10 MB has begun again
        assert stage.statuses() == ["activated"]
        stage.check()


def test_a_storage_that_is_off_from_the_beginning_sends_nothing():
    stage = stage_of(status("read_wan", "ON", at=50.0, storage="THERE_DISK"))
    off = stage.scenario.with_values({"grid.storages.THERE_DISK.read_wan": "OFF"})
    stage = Stage((timeline,), off, dict(input_bytes_per_job=10 * MB, replicas={1: 1.0}))
    stage.submit()
    stage.run(49.0)
    assert stage.statuses() == ["assigned"]
    stage.run(60.1)
    assert stage.statuses() == ["activated"]
    stage.check()


@pytest.mark.rule("fail_readers", "may_read")
@pytest.mark.parametrize(("at", "rate", "direct", "cause", "found"), [
    pytest.param(0.0, None, False, "none", "site_error", id="off before it starts: its stage-in fails"),
    pytest.param(5.0, MB, False, "none", "site_error", id="in the middle of its stage-in"),
    pytest.param(11.0, MB, False, "none", "none", id="after its stage-in: it has its copy"),
    pytest.param(50.0, MB, True, "none", "site_error", id="it reads directly"),
    pytest.param(50.0, MB, True, "payload_error", "site_error", id="its payload would have failed later"),
])
def test_jobs_fail_that_read_from_a_storage_that_is_off(at, rate, direct, cause, found):
    stage = stage_of(status("read_lan", at=at), input_at=0, rate=rate)
    stage.arrays.queues["direct_io"][0] = direct
    stage.submit()
    stage.run(1e-3)
    stage.workers()
    stage.arrays.jobs["cause"][stage.live()] = Cause.of(cause)
    stage.run(500.0)
    stage.collect()
    assert causes(stage) == [found]
    if found == "site_error":
        assert stage.ended()["walltime_s"][0] == pytest.approx(max(at - 1e-3, 0.0), abs=2e-3)
    stage.check()


@pytest.mark.rule("write_output")
@pytest.mark.parametrize(("incident", "here", "found"), [
    pytest.param([], {}, "none", id="there is room"),
    pytest.param([status("write_lan")], {}, "transfer_error", id="writing over LAN is off: its stage-out fails"),
    pytest.param([status("write_lan", until=50.0)], {}, "none", id="it is on again when the job writes"),
    pytest.param([status("write_wan")], {}, "none", id="WAN is not LAN"),
    pytest.param([], dict(free=3 * MB), "none", id="just enough space"),
    pytest.param([], dict(free=3 * MB - 1), "transfer_error", id="full"),
    pytest.param([], dict(free=0, expired=3 * MB), "none", id="expired data makes room"),
])
def test_output_needs_a_storage_that_takes_it(incident, here, found):
    stage = stage_of(*incident, input_at=0, here=here, output=3 * MB, nucleus=0)
    stage.submit()
    stage.workers()
    stage.run(500.0)
    stage.collect()
    assert causes(stage) == [found]
    stage.check()


def test_a_full_storage_fails_jobs_at_a_satellite_as_well():
    disks = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", total=1e12, free=MB))
    bench = Bench(two_sites(storages=disks), dict(nucleus=0, output_bytes_per_job=2 * MB))
    bench.submit(queue=1)
    bench.workers(queue=1)
    bench.run(500.0)
    bench.collect()
    assert causes(bench) == ["transfer_error"]

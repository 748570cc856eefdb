"""What a queue must offer to analysis jobs: boundaries of disks, storages, wall time and pilots."""

from math import inf, nan

import pytest
from analysis_builders import DISK, EDITIONS, TB, dataset, queues, refuses, task, view, why

from simgrid_broker.policy.brokerage.analysis import requirements
from simgrid_broker.policy.brokerage.production import storage
from simgrid_broker.policy.brokerage.production.requirements import too_little_memory, too_much_memory
from simgrid_broker.units import GIB, MIB


def by_edition(rule, *asked, **said):
    """Whether a rule of both editions refuses a queue in each."""
    return tuple(refuses(rule, *asked, edition=edition, **said) for edition in EDITIONS)


@pytest.mark.rule("disks_too_busy")
@pytest.mark.parametrize(("diskio", "limit", "cores", "measured", "expected"), [
    (101, 100, 1, 101, True), (100, 100, 1, 101, False), (101, 100, 1, 100, False), (nan, 100, 1, 101, False),
    (804, 100, 8, 101, True), (800, 100, 8, 101, False), (101, nan, 1, 101, False)])
def test_disk_traffic(diskio, limit, cores, measured, expected):
    asked, grid = task(diskio=diskio, corecount=cores), queues(1, maxdiskio=limit, corecount=cores)
    assert by_edition(requirements.disks_too_busy, asked, grid, view(diskio=measured)) == (expected, expected)


@pytest.mark.rule("too_intense")
def test_io_intensity():
    grid = queues(1, max_io_intensity=100.0)
    assert not refuses(storage.too_intense, task(iointensity=100.0), grid)
    assert refuses(storage.too_intense, task(iointensity=101.0), grid)


@pytest.mark.rule("requirements.too_little_memory", "requirements.too_much_memory")
def test_memory_leaves_the_base_out_in_the_code():
    asked = task(ramcount=1000.0, baseramcount=200.0, corecount=8)
    grid = queues(1, corecount=8, maxrss_mb=7200.0, minrss_mb=7201.0)
    assert by_edition(too_little_memory, asked, grid) == (True, False)      # 7380 and 7200 MB
    assert by_edition(too_much_memory, asked, grid) == (False, True)


@pytest.mark.rule("scratch_too_small")
@pytest.mark.parametrize(("maxwdir", "expected"), [(3.0, True), (3.1, False), (0.0, False)])
def test_scratch_as_documented(maxwdir, expected):
    asked = task(input_bytes_per_job=1e6, output_bytes_per_job=1e6, workdisk_bytes=1e6)
    assert refuses(requirements.scratch_too_small, asked, queues(1, maxwdir_mb=maxwdir)) == expected


@pytest.mark.rule("scratch_too_small_deployed")
@pytest.mark.parametrize(("fields", "queue", "need_mb"), [
    pytest.param({}, {}, 100 + 50 + 300, id="input, output and work space"),
    pytest.param(dict(workdisk_bytes=nan), {}, 150, id="no work space said"),
    pytest.param({}, dict(always_direct_io=True), 350, id="input is read directly"),
    pytest.param(dict(bytes_per_job=GIB), {}, 1024, id="nGBPerJob"),
    pytest.param(dict(bytes_per_job=GIB), dict(always_direct_io=True), 812, id="output of nGBPerJob"),
    pytest.param(dict(is_merging=True), {}, 200, id="merging: twice the input"),
])
def test_scratch_in_the_code(fields, queue, need_mb):
    asked = task(**dict(input_bytes_per_job=100 * MIB, output_bytes_per_job=50 * MIB, workdisk_bytes=0.0) | fields)
    for maxwdir, expected in ((need_mb, False), (need_mb - 1, True), (0, False)):
        grid = queues(1, maxwdir_mb=float(maxwdir), **queue)
        assert refuses(requirements.scratch_too_small_deployed, asked, grid) == expected


@pytest.mark.rule("storage_nearly_full")
def test_space_as_documented():
    assert [refuses(requirements.storage_nearly_full, seen=view(free_bytes=free)) for free in (200e9, 201e9)] == [
        True, False]
    assert not refuses(requirements.storage_nearly_full, seen=view(free_bytes=0, output=-1))


@pytest.mark.rule("without_output", "too_little_output_space", "over_local_quota")
def test_storage_of_output():
    assert why(seen=view(3, has_output=[True, False, True], usable_output=[200 * GIB, TB, 200 * GIB - 1])) == [
        "", "without_output", "too_little_output_space"]
    assert why(seen=view(2, over_quota=[True, False])) == ["over_local_quota", ""]
    assert why(seen=view(usable_output=300 * GIB), anal_jobbroker={"STORAGE_MIN_FREE_SIZE_OUTPUT": 301}) == [
        "too_little_output_space"]


@pytest.mark.rule("too_little_input_space")
@pytest.mark.parametrize(("columns", "expected"), [
    pytest.param(dict(usable_input=0, one=False), "too_little_input_space", id="no room for what is moved"),
    pytest.param(dict(usable_input=200 * GIB, one=False), "", id="room for it"),
    pytest.param(dict(usable_input=0), "", id="the storage of output, which was looked at"),
    pytest.param(dict(has_input=False), "too_little_input_space", id="no storage for it"),
])
def test_storage_of_input_that_is_moved(columns, expected):
    assert why(seen=view(datasets=[dataset([0])], **columns)) == [expected]
    assert why(seen=view(datasets=[dataset([DISK])], **columns)) == [""]


@pytest.mark.rule("closed_storage")
@pytest.mark.parametrize(("closed", "without", "with_data"), [
    ("read_lan", True, True), ("write_lan", True, True), ("write_wan", True, False), ("read_wan", True, False)])
def test_closed_storages(closed, without, with_data):
    assert by_edition(requirements.closed_storage, seen=view(**{closed: False})) == (without, without)
    held = view(datasets=[dataset([DISK])], **{closed: False})
    assert by_edition(requirements.closed_storage, seen=held) == (with_data, with_data)


WORK = dict(cputime=100.0, n_events_per_job=100, cpuefficiency=100.0)           # 10 000 HS06 s: 1000 s at 10 HS06


@pytest.mark.rule("maxtime_too_short", "maxtime_too_short_deployed", "mintime_too_long", "mintime_too_long_deployed")
@pytest.mark.parametrize(("maxtime", "mintime", "expected"), [
    (1000.0, 0.0, (False, False)), (999.0, 0.0, (True, False)), (inf, 1000.0, (False, False)),
    (inf, 1001.0, (False, True))])
def test_wall_time(maxtime, mintime, expected):
    grid = queues(1, maxtime_s=maxtime, mintime_s=mintime)
    assert (refuses(requirements.maxtime_too_short, task(**WORK), grid),
            refuses(requirements.mintime_too_long, task(**WORK), grid)) == expected
    assert (refuses(requirements.maxtime_too_short_deployed, task(**WORK), grid),
            refuses(requirements.mintime_too_long_deployed, task(**WORK), grid)) == expected
    merging = task(**WORK, is_merging=True)
    assert not refuses(requirements.maxtime_too_short_deployed, merging, grid)
    assert not refuses(requirements.mintime_too_long_deployed, task(cputime=nan), grid)


DAY = 86400.0


@pytest.mark.rule("no_day_for_scouts", "no_day_for_unknown")
@pytest.mark.parametrize(("fields", "scouts", "unknown"), [
    pytest.param({}, (False, False), (False, False), id="a task with a wall time"),
    pytest.param(dict(is_scout=True), (True, True), (False, False), id="scouts"),
    pytest.param(dict(cputime=nan), (False, False), (True, True), id="an unknown wall time"),
    pytest.param(dict(is_merging=True), (False, False), (True, False), id="merging, as documented alone"),
    pytest.param(dict(is_scout=True, preassigned=(0,)), (True, False), (False, False), id="the queue is named"),
])
def test_a_day(fields, scouts, unknown):
    asked = task(**fields)
    short, long = (queues(1, maxtime_s=limit) for limit in (DAY - 1, DAY))
    assert by_edition(requirements.no_day_for_scouts, asked, short) == scouts
    assert by_edition(requirements.no_day_for_unknown, asked, short) == unknown
    assert by_edition(requirements.no_day_for_scouts, asked, long) == (False, False)
    assert by_edition(requirements.no_day_for_unknown, asked, long) == (False, False)


@pytest.mark.rule("pilots_missing")
def test_pilots():
    assert by_edition(requirements.pilots_missing, seen=view(n_pilot=0)) == (True, True)
    assert by_edition(requirements.pilots_missing, seen=view(n_pilot=1)) == (False, False)
    assert by_edition(requirements.pilots_missing, task(prodsourcelabel="test"), seen=view(n_pilot=0)) == (True, False)

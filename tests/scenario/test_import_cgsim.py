"""CGSim's sites, links and jobs: units, edge cases, and how malformed files are told."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.errors import InputFileError
from simgrid_broker.scenario.importers import read_cgsim, read_cgsim_jobs, read_trace
from simgrid_broker.scenario.importers.cgsim import RATES, SIZES, SPEEDS, TIMES, in_units
from simgrid_broker.scenario.model import Grid, Scenario

DATA = Path(__file__).parents[2].parent / "shared" / "data"
COLUMNS = (
    "pandaid", "creationtime", "starttime", "endtime", "computingelement", "assignedpriority", "currentpriority",
    "jobstatus", "jobname", "cpuconsumptiontime", "computingsite", "cpuconversion", "job_walltime", "job_queuetime",
    "cpu_eff", "destinationdblock", "destinationse", "sourcesite", "transfertype", "corecount", "ninputdatafiles",
    "inputfilebytes", "noutputdatafiles", "outputfilebytes", "piloterrorcode", "exeerrorcode", "ddmerrorcode",
    "jobdispatchererrorcode", "taskbuffererrorcode", "pilottiming", "files_info")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real files is not here")


def site(cores=24, units=2, speed=3e7, capacity="1000000", used="0.25", **host):
    """One site with one group of hosts."""
    return {"SITE_PROPERTIES": {"GFLOPS": "28407840", "storage_capacity_bytes": capacity,
                                "storage_utilization_ratio": used},
            "CPUInfo": [{"units": units, "cores": cores, "speed": speed, "properties": [{"ram": "96GB"}],
                         "disks": [{"name": "D", "read_bw": "300MBps", "write_bw": "1MBps"}]} | host]}


def files(tmp_path, sites, links=None):
    """The two files as CGSim writes them."""
    paths = tmp_path / "sites.json", tmp_path / "links.json"
    for path, value in zip(paths, (sites, {} if links is None else links), strict=True):
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return paths


def job(**fields):
    """One record of a plain job: 8 cores, 20 minutes, one input file."""
    plain = dict.fromkeys(COLUMNS, "") | {
        "pandaid": "1", "creationtime": "1/27/2025 2:51", "starttime": "1/27/2025 3:10", "endtime": "1/27/2025 3:30",
        "assignedpriority": "1000", "jobstatus": "finished", "jobname": "user.user001.x/.1", "computingsite": "0",
        "job_walltime": "9672", "cpu_eff": "0.5", "corecount": "8", "ninputdatafiles": "1", "inputfilebytes": "500",
        "outputfilebytes": "20", "files_info": '"{""a"": 500}"'}
    return ",".join(str(value) for value in (plain | fields).values())


def jobs_file(tmp_path, *lines):
    """A job file with CGSim's header."""
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join((",".join(COLUMNS), *lines)) + "\n")
    return path


def grid_of(sites):
    """A grid of nothing but these sites."""
    return Grid(sites={name: {} for name in sites})


def tasks_of(tmp_path, *lines, sites=("A", "B")):
    """Tasks of these records."""
    return read_trace(jobs_file(tmp_path, *lines), grid=grid_of(sites), group_by=("record",))[0]


def problems_of(call):
    """The problems of the InputFileError that `call` raises."""
    with pytest.raises(InputFileError) as caught:
        call()
    return caught.value.problems


@pytest.mark.parametrize(("text", "scales", "expected"), [
    pytest.param("8bps", RATES, 1, id="bps are bits"),
    pytest.param("108.32Mbps", RATES, 13.54e6, id="megabits"),
    pytest.param("3725GBps", RATES, 3725e9, id="Bps are bytes"),
    pytest.param("1KiBps", RATES, 1024, id="powers of 1024"),
    pytest.param("125000000", RATES, 125e6, id="a bare rate is bytes/s"),
    pytest.param("37ms", TIMES, 0.037, id="milliseconds"),
    pytest.param("72ns", TIMES, 72e-9, id="nanoseconds"),
    pytest.param("2m", TIMES, 120, id="m is minutes"),
    pytest.param("19456GB", SIZES, 19456e9, id="a size"),
    pytest.param("10Gf", SPEEDS, 1e10, id="a speed"),
    pytest.param(3e7, SPEEDS, 3e7, id="a number"),
    pytest.param("5 parsecs", RATES, None, id="not a unit"),
    pytest.param("-1Mbps", RATES, None, id="negative"),
    pytest.param(None, RATES, None, id="nothing"),
    pytest.param(True, RATES, None, id="a boolean is no number"),
])
def test_units(text, scales, expected):
    assert in_units(text, scales) == (None if expected is None else pytest.approx(expected))


def test_a_site(tmp_path):
    grid, others, remarks = read_cgsim(*files(tmp_path, {"A": site()}))
    assert grid["sites"]["A"] == {"tier": 2, "cores": 48, "nucleus": True, "failure_rate": 0,
                                  "memory_per_core": 4000, "stage_in_rate": 300e6}
    assert grid["storages"]["A_DATADISK"] == {"site": "A", "total": 1000000, "free": 750000}
    assert grid["queues"]["A"] == {"atlas_site": "A", "corepower": 10}
    assert grid["links"]["pairs"] == []
    assert others == {"edition": "deployed", "gdpconfig": {
        "STORAGE_MIN_FREE_SIZE": 1e-6, "STORAGE_MIN_FREE_SIZE_OUTPUT": 1e-6, "DISK_THRESHOLD": 0}}, "it is small"
    assert any("10 HS06" in remark for remark in remarks)
    Grid.model_validate(grid)


@pytest.mark.parametrize(("free", "keys"), [(2**47, []), (2**40, ["DISK_THRESHOLD"]), (
    2**30, ["STORAGE_MIN_FREE_SIZE", "STORAGE_MIN_FREE_SIZE_OUTPUT", "DISK_THRESHOLD"])])
def test_limits_of_brokers_are_set_for_storages_below_them(tmp_path, free, keys):
    _, others, remarks = read_cgsim(*files(tmp_path, {"A": site(capacity=str(free), used="0")}))
    assert list(others.get("gdpconfig", {})) == keys
    assert any(f"{free / 1e9:.6g} GB free" in remark for remark in remarks) == bool(keys)


def test_output_that_fits_nowhere_is_remarked(tmp_path):
    for capacity, fits in (("40", True), ("39", False)):
        *_, remarks = read_cgsim(*files(tmp_path, {"A": site(capacity=capacity, used="0")}),
                                 jobs_file(tmp_path, job(), job(pandaid="2")))
        assert any("the rest waits for space" in remark for remark in remarks) != fits


def test_speeds_keep_their_ratio_and_the_mean_core_has_ten_hs06(tmp_path):
    grid, _, _ = read_cgsim(*files(tmp_path, {"A": site(cores=10, speed=3e7), "B": site(cores=30, speed="10Mf")}))
    assert [queue["corepower"] for queue in grid["queues"].values()] == [20, pytest.approx(20 / 3, rel=1e-5)]


def test_a_link_holds_both_ways(tmp_path):
    links = {"A:B": {"bandwidth": "80Mbps", "latency": "37ms"}}
    grid, _, remarks = read_cgsim(*files(tmp_path, {"A": site(), "B": site(), "C": site()}, links))
    assert grid["links"]["pairs"] == [
        {"source": "A", "destination": "B", "bandwidth": 10e6, "latency": 0.037},
        {"source": "B", "destination": "A", "bandwidth": 10e6, "latency": 0.037}]
    assert any("both" in remark and "A:B" in remark for remark in remarks)
    assert any("default link holds: 4" in remark for remark in remarks)


def test_a_link_with_its_own_reverse(tmp_path):
    links = {"B:A": {"bandwidth": "8bps", "latency": "1s"}, "A:B": {"bandwidth": "16bps", "latency": "1s"},
             "AB": {"bandwidth": "8bps"}}
    grid, _, remarks = read_cgsim(*files(tmp_path, {"A": site(), "B": site()}, links))
    assert [pair["bandwidth"] for pair in grid["links"]["pairs"]] == [2, 1]
    assert any("form A:B: 1 (AB)" in remark for remark in remarks)


def test_a_site_without_storage_is_no_nucleus(tmp_path):
    bare = site()
    del bare["SITE_PROPERTIES"], bare["CPUInfo"][0]["disks"], bare["CPUInfo"][0]["properties"]
    grid, _, remarks = read_cgsim(*files(tmp_path, {"A": bare}))
    assert grid["sites"]["A"] == {"tier": 2, "cores": 48, "nucleus": False, "failure_rate": 0}
    assert grid["storages"] == {}
    assert any(remark.startswith("sites without storage") for remark in remarks)
    Grid.model_validate(grid)


@pytest.mark.parametrize(("sites", "links", "key", "word"), [
    pytest.param({"A": site(speed="fast")}, {}, "A.speed", "unit", id="a speed without sense"),
    pytest.param({"A": site(units=-1)}, {}, "A.units", "number", id="less than no hosts"),
    pytest.param({"A": site(units=0)}, {}, "A.CPUInfo", "core", id="no cores at all"),
    pytest.param({"A": site(capacity="10TB")}, {}, "A.storage_capacity_bytes", "a number", id="bytes with a unit"),
    pytest.param({"A": site(used="1.5")}, {}, "A.storage_utilization_ratio", "0 to 1", id="more than full"),
    pytest.param({"A": {"CPUInfo": "x"}}, {}, "A.CPUInfo", "list", id="hosts are no list"),
    pytest.param({"A": site(disks=True)}, {}, "A.disks", "list of objects", id="disks are true"),
    pytest.param({"A": site(disks={"D": {}})}, {}, "A.disks", "list of objects", id="disks are an object"),
    pytest.param({"A": site(properties=["96GB"])}, {}, "A.properties", "list of objects", id="properties are text"),
    pytest.param({"A": 5}, {}, "A", "object", id="a site is no object"),
    pytest.param([], {}, "", "not a list", id="sites are a list"),
    pytest.param({}, {}, "", "one site", id="no site"),
    pytest.param({"Alpha": site()}, {"Alpha:Alpa": {"bandwidth": "1bps"}}, "Alpha:Alpa", "site file",
                 id="a link to nowhere"),
    pytest.param({"A": site(), "B": site()}, {"A:B": {"bandwidth": "0bps"}}, "A:B.bandwidth", "above 0",
                 id="a dead link"),
    pytest.param({"A": site(), "B": site()}, {"A:B": {}}, "A:B.bandwidth", "unit", id="a link without bandwidth"),
    pytest.param('{"A": ', {}, "column 7", "cut", id="JSON that is cut"),
    pytest.param('{"A": nope}', {}, "column 7", "valid JSON", id="not JSON"),
    pytest.param('{"A": [' + "[" * 100000, {}, "", "JSON that can be held", id="nested without end"),
])
def test_malformed_grid_files(tmp_path, sites, links, key, word):
    problems = problems_of(lambda: read_cgsim(*files(tmp_path, sites, links)))
    assert any(problem.key == key and word in problem.expected for problem in problems), problems
    assert all(problem.file.endswith(".json") for problem in problems)


def test_the_line_of_a_bad_value(tmp_path):
    text = '{\n "A": {"CPUInfo": [{"units": 1, "cores": 1,\n  "speed": "fast"}]},\n "B": {}\n}'
    problems = problems_of(lambda: read_cgsim(*files(tmp_path, text)))
    assert [(problem.key, problem.line) for problem in problems] == [("A.speed", 3), ("B.CPUInfo", 4)]


KEYS = ["A", "CPUInfo", "units", "cores", "speed", "disks", "properties", "SITE_PROPERTIES", "storage", "ram"]
any_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4))


@settings(deadline=None)
@given(any_json)
def test_any_json_is_a_grid_or_is_told(tmp_path_factory, value):
    paths = files(tmp_path_factory.mktemp("cgsim"), value)
    try:
        Grid.model_validate(read_cgsim(*paths)[0])
    except InputFileError as error:
        assert error.problems


@pytest.mark.parametrize(("fields", "column", "expected"), [
    pytest.param({}, "corecount", 8, id="cores"),
    pytest.param({}, "work_hs06s_per_event", 9672 * 10 * 0.5, id="wall time is core-seconds; work is CPU work"),
    pytest.param({"cpu_eff": "3.2"}, "work_hs06s_per_event", 96720, id="an efficiency above 1 is not used"),
    pytest.param({"cpu_eff": ""}, "cpu_efficiency", 1, id="no efficiency"),
    pytest.param({"job_walltime": ""}, "work_hs06s_per_event", 1200 * 8 * 10 * 0.5, id="no wall time: end less start"),
    pytest.param({"job_walltime": "", "starttime": "100", "endtime": "160.5"}, "work_hs06s_per_event", 60.5 * 40,
                 id="times in seconds"),
    pytest.param({"corecount": "0"}, "corecount", 1, id="no cores: one"),
    pytest.param({}, "input_bytes_per_job", 500, id="input"),
    pytest.param({"inputfilebytes": "", "files_info": '"{""a"": 3, ""b"": 4}"'}, "input_bytes_per_job", 7,
                 id="input from the list of files"),
    pytest.param({"ninputdatafiles": "", "files_info": '"{""a"": 3, ""b"": 4}"'}, "n_input_files", 2,
                 id="number of files from the list"),
    pytest.param({}, "output_bytes_per_job", 20, id="output"),
    pytest.param({"assignedpriority": "-479"}, "priority", -479, id="a priority may be negative"),
    pytest.param({"assignedpriority": ""}, "priority", 1000, id="no priority"),
])
def test_what_a_record_becomes(tmp_path, fields, column, expected):
    rows = tasks_of(tmp_path, job(**fields)).rows
    assert rows[column].tolist() == [pytest.approx(expected)]


@pytest.mark.parametrize(("fields", "site"), [
    pytest.param({"computingsite": "1"}, 1, id="a number counts the sites"),
    pytest.param({"computingsite": "B"}, 1, id="a name"),
    pytest.param({"computingsite": "A", "sourcesite": "B"}, 1, id="the source wins"),
    pytest.param({"computingsite": "7"}, 0, id="an unknown site: the sites in turn"),
    pytest.param({"inputfilebytes": "0", "files_info": ""}, -1, id="no input, no replica"),
])
def test_where_the_input_lies(tmp_path, fields, site):
    tasks = tasks_of(tmp_path, job(**fields))
    assert tasks.replica_site[0].tolist() == [site, -1, -1, -1]
    assert tasks.replica_fraction[0].tolist() == [float(site >= 0), 0, 0, 0]


@pytest.mark.parametrize(("fields", "wait", "place"), [
    pytest.param({"job_queuetime": "300", "computingsite": "B"}, 300, "B", id="a wait and a name"),
    pytest.param({"job_queuetime": "0", "computingsite": "1"}, 0, "B", id="no wait, and the number of a site"),
    pytest.param({"job_queuetime": "", "computingsite": "7"}, None, "P7", id="an unknown wait and site"),
    pytest.param({"job_queuetime": "-5", "computingsite": ""}, None, None, id="an impossible wait, no site"),
])
def test_what_is_recorded_of_a_job_beside_its_work(tmp_path, fields, wait, place):
    tasks = tasks_of(tmp_path, job(**fields))
    recorded, names = tasks.trace[0], tasks.trace_words["partitions"]
    assert (None if np.isnan(recorded["wait_s"]) else recorded["wait_s"]) == wait
    assert (names[recorded["partition"]] if recorded["partition"] >= 0 else None) == place


def test_recorded_jobs_go_to_the_queue_of_their_site(tmp_path):
    path = jobs_file(tmp_path, job(computingsite="B"), job(pandaid="2", computingsite="0"),
                     job(pandaid="3", computingsite="GONE"))
    tasks, remarks = read_trace(path, grid=grid_of(("A", "B")), queues=("A", "B"))
    assert [tasks.vocabularies["preassigned"][k] for k in tasks.rows["preassigned"]] == ["B", "A", ""]
    assert any("whose partition is no PanDA queue of the grid are brokered: 1" in remark for remark in remarks)


def test_users_lose_their_names(tmp_path):
    tasks = tasks_of(tmp_path, job(), job(jobname="user.other.x"), job(jobname="mc23.simul.x"), job())
    assert [tasks.vocabularies["users"][k] for k in tasks.rows["user"]] == ["U1", "U2", "", "U1"]
    assert [tasks.vocabularies["labels"][k] for k in tasks.rows["label"]] == ["user", "user", "managed", "user"]


@pytest.mark.parametrize(("line", "key", "word"), [
    pytest.param(job(creationtime="27.1.2025"), "creationtime", "2025-01-27 02:51:00", id="a date of another form"),
    pytest.param(job(corecount="eight"), "corecount", "number", id="letters where a number belongs"),
    pytest.param(job(files_info='"{""a"": "'), "files_info", "JSON", id="JSON that is cut"),
    pytest.param(job(files_info='"[1]"'), "files_info", "JSON object", id="a list of files without names"),
    pytest.param(job(files_info='"{""a"": ""x""}"'), "files_info", "sizes", id="a size that is text"),
    pytest.param("1,2,3", "", "31 fields", id="a line that is cut"),
    pytest.param(job(files_info='"{'), "", "comma-separated", id="a quote that never ends"),
])
def test_malformed_records(tmp_path, line, key, word):
    problems = problems_of(lambda: tasks_of(tmp_path, job(), line))
    assert [(problem.key, problem.line) for problem in problems] == [(key, 3)]
    assert word in problems[0].expected


def test_a_file_without_records(tmp_path):
    problem, = problems_of(lambda: tasks_of(tmp_path))
    assert "below the header" in problem.expected


def test_blank_lines_and_the_limit(tmp_path):
    path = jobs_file(tmp_path, job(), "", job(), job(corecount="beyond the limit"))
    assert len(read_trace(path, limit=2)[0].trace) == 2


def test_a_record_without_times_never_ran(tmp_path):
    tasks, remarks = read_trace(jobs_file(tmp_path, job(), job(pandaid="7", job_walltime="0", endtime=""),
                                          job(pandaid="8", creationtime="")))
    assert len(tasks.rows) == 1
    assert any("never ran" in remark and "job 7" in remark for remark in remarks)
    assert any("submit time is unknown" in remark and "job 8" in remark for remark in remarks)


def test_a_header_that_lacks_a_column(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("pandaid,corecounts\n1,2\n")
    problems = problems_of(lambda: read_trace(path, "cgsim"))
    assert [problem.line for problem in problems] == [1, 1, 1]
    assert problems[1].nearest == ("corecounts",) and "NAME" not in problems[1].expected


@needs_data
@pytest.mark.parametrize(("name", "n_sites", "n_pairs", "cores"), [
    pytest.param("mini", 1, 0, 100, id="one site and no link"),
    pytest.param("toy_new", 20, 380, 44374, id="twenty sites"),
])
def test_real_grids_and_jobs(name, n_sites, n_pairs, cores):
    jobs = DATA / "panda" / "cgsim_toy_job.csv"
    grid, others, _ = read_cgsim(*(DATA / "cgsim" / f"{name}_site_{part}.json" for part in ("info", "conn_info")), jobs)
    assert (len(grid["sites"]), len(grid["links"]["pairs"])) == (n_sites, n_pairs)
    assert others["workload"]["trace"] == {"file": str(jobs.resolve()), "format": "cgsim"}
    assert grid["sites"]["AGLT2_site_0"]["cores"] == cores
    scenario = Scenario.model_validate({"name": "x", "duration": 3600, "grid": grid,
                                        "shares": [{"name": "All", "value": 1}]})
    tasks, _ = read_cgsim_jobs(jobs, scenario)
    assert tasks.rows["n_jobs"].sum() == 20
    assert (tasks.replica_site[:, 0] < n_sites).all()

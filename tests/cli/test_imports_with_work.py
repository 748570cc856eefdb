"""Every importer on the real files of ../shared: what it writes is checked and run with work in both editions, and jobs
are made; shares of work that fills a real grid for six hours get what they are due within bounds."""

from pathlib import Path

import pytest
import yaml

import simgrid_broker as sb

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real files is missing")]

STREAM = dict(events_per_job=100, memory_per_core=1000, jobs_per_task=dict(median=3), corepower=10,
              input_per_job=1e8, output_per_job=1e7)
WORK = dict(
    duration="1h", warm_up=0,
    shares=[dict(name="Production", value=70, prodsourcelabel="managed"),
            dict(name="Analysis", value=30, prodsourcelabel="user|panda")],
    workload=dict(
        campaigns=[dict(name="simul", processingtype="simul", hs06sec_per_event=600, offered_cores=100,
                        backlog_time="1h", **STREAM)],
        users=[dict(name="users", users=5, corecount=1, hs06sec_per_event=60, offered_cores=5, tasks_per_period=3,
                    active_period="1h", backlog_time="1h", **STREAM)]))
"""An hour of little work for a grid that brings none."""
BOTH = ("documented", "deployed")


def made(call, folder, command, *arguments):
    """Path of what `import` writes from real files; every path is one of DATA."""
    output = folder / f"{command}{len([*folder.iterdir()])}.yaml"
    result = call("import", command, *(DATA / one if isinstance(one, str) and "/" in one else one
                                       for one in arguments), "-o", output)
    assert result.exit_code == 0, result.stderr
    return output


def jobs_of(call, folder, values, edition, until):
    """Jobs that a scenario makes, with all invariants checked, after `check` has accepted it."""
    path = folder / f"case{len([*folder.iterdir()])}.yaml"
    path.write_text(yaml.safe_dump(dict(name="case", edition=edition) | values))
    checked = call("check", path)
    assert checked.exit_code == 0, checked.stderr
    run = sb.simulate(sb.load_scenario(path, until=until), folder=folder / f"run{path.stem}", validate=True)
    return run.manifest["counters"]["jobs_made"]


@pytest.mark.parametrize(("options", "editions"), [
    pytest.param((), ("documented",), id="as it is"), pytest.param(("--auto-as-any",), ("deployed",), id="auto as any"),
    pytest.param(("--software", "software/sw_tags_example.json", "--rses", "cric/rse_relations_derived.json"), (),
                 id="with software and endpoints"),
])
def test_grids_of_cric(call, tmp_path, options, editions):
    grid = made(call, tmp_path, "cric", "cric/pandaqueues_subset.json", *options)
    for edition in editions:
        assert jobs_of(call, tmp_path, dict(extends=str(grid)) | WORK, edition, "1h") > 0, edition


def filling(grid):
    """Work for six hours that fills the grid of a file, of which each site has a twentieth of its cores, at least 256.

    Production needs nine tenths of the cores, and users, whose jobs have no input, a half.
    """
    sites = yaml.safe_load(grid.read_text())["grid"]["sites"]
    cores = {name: dict(cores=max(256, site["cores"] // 20)) for name, site in sites.items()}
    total, stream = sum(site["cores"] for site in cores.values()), STREAM | dict(jobs_per_task=30, backlog_time="6h")
    without_input = {name: value for name, value in stream.items() if name != "input_per_job"}
    return WORK | dict(
        extends=str(grid), duration="6h", warm_up="3h", start="filled", grid=dict(sites=cores),
        workload=dict(
            campaigns=[dict(name="simul", hs06sec_per_event=3000, offered_cores=0.9 * total, **stream)],
            users=[dict(name="users", users=50, corecount=1, hs06sec_per_event=300, offered_cores=0.5 * total,
                        tasks_per_period=3, active_period="1h", **without_input)]))


@pytest.mark.parametrize(("edition", "least", "most"), [
    pytest.param("documented", 24, 36, id="documented: near 30 %"),
    pytest.param("deployed", 10, 30, id="deployed: less, -capability takes queues for production")])
def test_shares_on_a_real_grid_get_what_they_are_due_within_bounds(call, tmp_path, edition, least, most):
    path = tmp_path / "six_hours.yaml"
    grid = made(call, tmp_path, "cric", "cric/pandaqueues_subset.json", "--auto-as-any")
    path.write_text(yaml.safe_dump(dict(name="six_hours", edition=edition) | filling(grid)))
    checked = call("check", path)
    assert checked.exit_code == 0, checked.stderr
    run = sb.simulate(sb.load_scenario(path), folder=tmp_path / "run", validate=True)
    delivered = sb.metrics.wide(sb.metrics.share_compliance(run)).set_index("share").delivered
    assert least <= delivered["Analysis"] <= most
    assert delivered["Production"] == pytest.approx(100 - delivered["Analysis"])


def test_limits_of_harvester(call, tmp_path):
    grid = made(call, tmp_path, "cric", "cric/pandaqueues_subset.json")
    parts = [made(call, tmp_path, "harvester", f"harvester/{file.name}", "--grid", grid)
             for file in sorted((DATA / "harvester").glob("*.json"))]
    values = dict(extends=[str(grid), *map(str, parts)]) | WORK | dict(duration="6h")
    assert jobs_of(call, tmp_path, values, "documented", "6h") > 0


def test_cgsim_with_its_jobs(call, tmp_path):
    for name in ("mini", "toy_new"):
        grid = made(call, tmp_path, "cgsim", f"cgsim/{name}_site_info.json", f"cgsim/{name}_site_conn_info.json",
                    "panda/cgsim_toy_job.csv")
        assert jobs_of(call, tmp_path, dict(extends=str(grid)), "deployed", "2h") == 20, name
        small = call("check", grid, "--set", "edition=documented", "--set", "gdpconfig={}")
        assert "0 queues with 0 of" in small.stdout and "taken by -disk" in small.stdout, name


@pytest.mark.parametrize("name", ["accasim_workload", "lapis_unilu_gaia_excerpt", "opendc_ctc_sp2_excerpt"])
def test_traces_with_their_machines(call, tmp_path, name):
    grid = made(call, tmp_path, "swf", f"swf/{name}.swf")
    for edition in BOTH:
        assert jobs_of(call, tmp_path, dict(extends=str(grid)), edition, "6h") > 0, edition


def test_recorded_jobs_without_a_grid(call, tmp_path):
    work = dict(campaigns=[], users=[], trace={"file": str(DATA / "gwf" / "opendc_workflow_variant.gwf"), "as": "jobs"})
    values = dict(extends=str(MINIMAL), warm_up=0, workload=work)
    assert jobs_of(call, tmp_path, values, "deployed", "3h") > 0
    for file in sorted((DATA / "panda" / "job_records").iterdir()):           # an excerpt of the monitor's columns
        work["trace"] |= {"file": str(file)}
        (tmp_path / "records.yaml").write_text(yaml.safe_dump(dict(name="records") | values))
        refused = call("check", tmp_path / "records.yaml")
        assert refused.exit_code == 2 and "the column creationtime was expected" in refused.stderr, file


@pytest.mark.parametrize(("command", "file"), [
    ("shares", "shares/global_shares_2018-07.json"), ("shares", "shares/global_shares_2018-07_rows_derived.json"),
    ("gdpconfig", "gdpconfig/gdpconfig_defaults.json")])
def test_parts_of_scenarios(call, tmp_path, command, file):
    part = made(call, tmp_path, command, file)
    for edition in BOTH:
        values = dict(extends=[str(MINIMAL), str(part)], warm_up=0)
        assert jobs_of(call, tmp_path, values, edition, "1h") > 0, edition

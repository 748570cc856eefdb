"""`describe`, `gdpconfig`, `import`, and the help of every command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tables import check_each
from typer.main import get_command

from simgrid_broker.cli import scenario_keys
from simgrid_broker.cli.app import app
from simgrid_broker.cli.describe import topics
from simgrid_broker.cli.importing import how_it_runs
from simgrid_broker.gdpconfig import REGISTRY
from simgrid_broker.scenario import load_scenario
from simgrid_broker.scenario.model import Links, Scenario, Site
from simgrid_broker.scenario.work.input_files import MegabytesSpread
from simgrid_broker.schema import RECORDED
from simgrid_broker.schema.queues import Queue
from simgrid_broker.schema.world import WORLD


def commands(group, above=()):
    """The words of every command of a group and of the groups below it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from commands(command, (*above, name)) if hasattr(command, "commands") else [(*above, name)]


HEAVY = ("numpy", "pandas", "numba", "pydantic", "matplotlib", "pyarrow", "simpy")


def test_every_command_has_help_with_examples_on_lines_of_their_own(call):
    def check(*command):
        result = call(*command, "--help")
        assert result.exit_code == 0
        _, examples = result.stdout.split("\n  Examples:\n")
        assert all(line.startswith("    simgrid-broker ") for line in examples.splitlines())
        assert f"simgrid-broker {' '.join(command)}" in examples
    check_each({" ".join(command): command for command in commands(get_command(app))}, check)


def test_help_does_not_wait_for_libraries():
    code = f"import sys\nfrom simgrid_broker.cli import app\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_an_unknown_command_is_a_usage_error(call):
    result = call("simulate")
    assert result.exit_code == 2 and "No such command" in result.stderr
    assert "Did you mean 'check'?" in call("chek").stderr


def test_a_command_is_imported_when_it_is_asked_for():
    code = "import sys\nfrom simgrid_broker.cli.app import app\ntry: app(['gdpconfig', '--help'])\nfinally: " \
           "print([m for m in sys.modules if m.startswith('simgrid_broker.cli.')])"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()[-1]
    assert "cli.gdpconfig'" in asked and "cli.studies" not in asked and "cli.explain" not in asked


def test_the_version(call):
    assert call("--version").stdout.startswith("simgrid-broker 0.")


def test_describe_lists_all_topics(call):
    result = call("describe").stdout
    for name in ("scenario", "queues", "campaigns", "rules", *RECORDED, *WORLD):
        assert f"\n{name} " in result


def test_every_topic_can_be_described(call):
    def check(topic):
        result = call("describe", topic)
        assert result.exit_code == 0 and len(result.stdout.splitlines()) > 5
    check_each({topic: (topic,) for topic in topics()}, check)


def test_a_topic_with_several_meanings_shows_them_all(call):
    result = call("describe", "queues").stdout
    for words in ("grid.queues.<name> in a scenario", "queues.parquet", "queues in the world", "maxrss", "time_s"):
        assert words in result


def test_an_unknown_topic_is_reported_with_suggestions(call):
    result = call("describe", "queuse")
    assert result.exit_code == 2 and "did you mean 'queues'" in result.stderr


def test_every_key_of_a_scenario_and_every_column_has_a_meaning():
    rows = [(section.title, row) for topic in topics().values() for section in topic.sections() for row in section.rows]
    assert [(title, row[0]) for title, row in rows if not row[-1]] == []


@pytest.mark.parametrize(("model", "name", "row"), [
    pytest.param(Scenario, "duration", ("time > 0, <= 1e+12", "s", "required"), id="a required time"),
    pytest.param(Queue, "capability", ("ucore | mcore | score", "", "ucore"), id="one word of several"),
    pytest.param(Queue, "maxrss", ("size >= 0", "MB", "0"), id="a size"),
    pytest.param(Queue, "workflow", ("text", "", "pull_ups"), id="optional text"),
    pytest.param(Site, "failure_rate", ("fraction", "", "0.02"), id="a fraction needs no limits"),
    pytest.param(Site, "nucleus", ("true or false", "", "false"), id="a boolean"),
    pytest.param(Site, "cores", ("whole number >= 0", "", "-"), id="an optional number"),
    pytest.param(Links, "by_tier", ("mapping of tiers", "", "-"), id="a mapping with numbers for names"),
    pytest.param(MegabytesSpread, "median", ("size >= 0", "MB", "required"), id="a limit inside an annotation"),
])
def test_a_key_is_described_with_its_accepted_values(model, name, row):
    assert scenario_keys._row(model, name, model.model_fields[name])[1:4] == row


def test_every_part_of_a_scenario_is_found_once():
    found = scenario_keys.parts()
    assert len({part.key for part in found}) == len(found) == len({part.model for part in found})
    keys = {part.key for part in found}
    assert {"grid.links.pairs[]", "workload.campaigns[].replicas", "grid.links.by_tier.<tier>"} <= keys


def test_gdpconfig_lists_every_key_and_marks_those_without_effect(call):
    result = call("gdpconfig").stdout
    assert [entry.key for entry in REGISTRY if entry.key not in result] == []
    words = " ".join(result.split())
    assert "Queued output files above which a nucleus is skipped" in words
    assert "Percentage of analysis tasks driven by messages (no effect)" in words
    assert "NW_ACTIVE false deployed Apply" in words and "NW_THRESHOLD 1.7 weight both Network" in words


@pytest.mark.rule("transfer_backlog")
@pytest.mark.parametrize(("key", "words"), [
    pytest.param("NQUEUED_NUC_CAP", ("taskbrokerage.NQUEUED_NUC_CAP", "2000 files", "transfer_backlog"), id="a key"),
    pytest.param("taskbrokerage.NQUEUED_NUC_CAP", ("2000 files",), id="with its component"),
    pytest.param("NQUEUELIMIT_MC simul_MCORE", ("<queue> = MC simul, <rtype> = MCORE", "prod_job_throttler",
                                                "anal_job_throttler"), id="a member of a family, in two components"),
    pytest.param("USER_TASKS_MESSAGE_DRIVEN_PERCENT", ("default   - %", "no effect"), id="an unread key"),
    pytest.param("gdpconfig.NW_ACTIVE", ("editions  deployed",), id="a key of one edition, as in a scenario"),
    pytest.param("NQUEUED_SAT_CAP", ("read by   documented:", "deployed:"),
                 id="a key that the editions read elsewhere"),
    pytest.param("FAST_REBRO_THRESHOLD_NQNR_RATIO", ("zero      the same as not set in the deployed edition",),
                 id="a key whose 0 means not set in one edition"),
    pytest.param("jobbroker", ("NW_ACTIVE", "NQUEUELIMITSITE_<gshare>"), id="a whole component"),
])
def test_gdpconfig_describes_one_key(call, key, words):
    result = call("gdpconfig", key)
    assert result.exit_code == 0 and all(each in result.stdout for each in words), result.stdout


@pytest.mark.parametrize(("key", "meant"), [("NQUEUED_NUC_KAP", "NQUEUED_NUC_CAP"), ("jobroker", "jobbroker"),
                                            ("taskbrokerage.NW_ACTIVE", "jobbroker.NW_ACTIVE")])
def test_an_unknown_key_is_reported_with_suggestions(call, key, meant):
    result = call("gdpconfig", key)
    assert result.exit_code == 2 and f"'{meant}'" in result.stderr


def test_import_cric_writes_a_grid_that_a_scenario_can_extend(call, tmp_path):
    dump, grid = tmp_path / "queues.json", tmp_path / "grid.yaml"
    queue = {"nickname": "Q", "atlas_site": "S", "status": "online", "state": "ACTIVE", "type": "unified",
             "capability": "ucore", "corecount": 8, "corepower": 12.5, "tier_level": 1, "maxrss": 16000,
             "astorages": {"read_lan": ["S_DATADISK"], "write_lan": ["S_DATADISK"]},
             "fairsharepolicy": "type=simul:100%,evgen=100%"}
    dump.write_text(json.dumps({"Q": queue}))
    result = call("import", "cric", dump, "-o", grid)
    assert result.exit_code == 0, result.stderr
    assert f"Written: {grid}. It has no work; use it" in " ".join(result.stdout.split())
    assert "1 queues" in result.stdout
    assert "'type=simul:100%,evgen=100%' is written as PanDA reads it" in " ".join(result.stdout.split())
    queues = yaml.safe_load(grid.read_text())["grid"]["queues"]
    assert {name: queue["fairsharepolicy"] for name, queue in queues.items()} == {"Q": "type=simul:100%,type=any:100%"}
    scenario = tmp_path / "own.yaml"
    scenario.write_text("extends: grid.yaml\nname: own\nduration: 1h\nshares: [{name: all, value: 1}]\n")
    assert call("check", scenario).exit_code == 0


def test_import_cric_takes_software_or_does_without_it(call, tmp_path):
    queue = {"nickname": "Q", "type": "unified", "state": "ACTIVE", "status": "online", "atlas_site": "S",
             "capability": "ucore", "corecount": 8, "corepower": 12.5, "tier_level": 1, "maxrss": 16000,
             "releases": ["AUTO"], "astorages": {"read_lan": ["S_DATADISK"], "write_lan": ["S_DATADISK"]}}
    tags = {"Q": {"cmtconfigs": ["x86_64-el9-gcc13-opt"], "containers": ["any"], "cvmfs": ["atlas"], "tags": []}}
    for name, value in (("dump", {"Q": queue}), ("tags", tags)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    grid, own = tmp_path / "grid.yaml", tmp_path / "own.yaml"
    own.write_text("extends: grid.yaml\nname: own\nduration: 1h\nshares: [{name: all, value: 1}]\n")
    for options, releases, remark in ((["--software", tmp_path / "tags.json"], ("AUTO",), "CRIC software tags.json"),
                                      (["--auto-as-any"], ("ANY",), "auto_as_any")):
        result = call("import", "cric", tmp_path / "dump.json", *options, "-o", grid)
        assert result.exit_code == 0 and remark in result.stdout and remark in grid.read_text(), result.stderr
        plan = load_scenario(own)
        assert plan.grid.queues["Q"].releases == releases
        assert (plan.grid.queues["Q"].software is None) == plan.grid.auto_as_any == (remark == "auto_as_any")


def test_import_cgsim_writes_a_scenario_that_can_be_run(call, tmp_path):
    data = Path(__file__).parents[2].parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the folder of real files is missing")
    result = call("import", "cgsim", data / "cgsim" / "toy_new_site_info.json", data / "cgsim" /
                "toy_new_site_conn_info.json", data / "panda" / "cgsim_toy_job.csv", "-o", tmp_path / "grid.yaml")
    assert result.exit_code == 0, result.stderr
    assert "Run it as it is" in result.stdout
    checked = call("check", tmp_path / "grid.yaml")
    assert checked.exit_code == 0 and "20 tasks with 20 jobs" in checked.stdout, checked.stderr
    assert "storage(s)" not in checked.stdout                        # brokers use them, however small
    assert "toy_job.csv (user): 20 queues with 1,132,448 of 1,132,448 cores" in " ".join(checked.stdout.split())


@pytest.mark.parametrize(("changes", "words"), [
    ({}, "Run it as it is, or use"),
    ({"grid": {"auto_as_any": False}},
     "As it is, it makes jobs of other work only: no queue takes those of analysis (-cache). Use"),
    ({"grid": {"auto_as_any": False}, "workload": {"campaigns": []}},
     "As it is, it makes no jobs: no queue takes those of analysis (-cache). Use"),
    ({"shares": [], "duration": -1}, "It does not run as it is (`check {path}`: 2 problems); use"),
])
def test_only_a_scenario_with_queues_for_its_work_is_to_be_run_as_it_is(changes, words, tmp_path):
    minimal, path = Path(__file__).parents[2] / "scenarios" / "minimal.yaml", tmp_path / "auto.yaml"
    queues = {name: {"releases": ["AUTO"]} for name in ("CENTRE", "NORTH", "SOUTH")}
    grid = {"auto_as_any": True, "queues": queues} | changes.get("grid", {})
    path.write_text(yaml.safe_dump({"extends": str(minimal), "edition": "deployed"} | changes | {"grid": grid}))
    assert how_it_runs(path) == words.format(path=path)


def test_a_scenario_of_recorded_jobs_is_as_long_as_they_take(call, tmp_path):
    sites = {"A": {"CPUInfo": [{"units": 10, "cores": 8, "speed": 1e9}],
                   "SITE_PROPERTIES": {"storage_capacity_bytes": 10**15}}}
    rows = [f"{number},{day * 86400},8,28800,finished" for number, day in enumerate((0, 1, 5, 9), start=1)]
    (tmp_path / "jobs.csv").write_text("\n".join(["pandaid,creationtime,corecount,job_walltime,jobstatus", *rows]))
    (tmp_path / "sites.json").write_text(json.dumps(sites))
    (tmp_path / "links.json").write_text("{}")
    result = call("import", "cgsim", tmp_path / "sites.json", tmp_path / "links.json", tmp_path / "jobs.csv", "-o",
                  tmp_path / "grid.yaml")
    assert result.exit_code == 0 and "Run it as it is" in result.stdout, result.stderr
    assert yaml.safe_load((tmp_path / "grid.yaml").read_text())["duration"] == "10 days"
    assert "with 4 jobs" in " ".join(call("check", tmp_path / "grid.yaml").stdout.split())


def test_an_import_of_another_format_is_refused(call, tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    result = call("import", "cric", tmp_path / "list.json", "-o", tmp_path / "grid.yaml")
    assert result.exit_code == 2 and "list.json" in result.stderr and not (tmp_path / "grid.yaml").exists()


@pytest.mark.parametrize(("arguments", "words"), [
    pytest.param(("gdpconfig", "NQUEUELIMIT"), ["NQUEUELIMITSITE_<gshare>", "NQUEUELIMIT_<queue>[_<rtype>]"],
                 id="a part of keys"),
    pytest.param(("gdpconfig", "cap_rt"), ["NQUEUELIMITSITE_<gshare>", "over_cap_of_type"], id="keys of a rule"),
    pytest.param(("gdpconfig", "-cpucore"), ["No key of gdpconfig changes this rule"], id="a rule without a key"),
    pytest.param(("describe", "-cap"), ["too_many_ready", "over_cap", "NQUEUELIMITSITE_<gshare>"], id="rules of a tag"),
    pytest.param(("describe", "lowmemory"), ["maxrss", "Refuse queues whose memory limit"], id="a tag without dash"),
    pytest.param(("describe", "-highmemory"), ["minrss"], id="a tag with an h, which is not -h"),
    pytest.param(("describe", "workflow"), ["pull_ups"], id="a key"),
    pytest.param(("describe", "grid.queues"), ["atlas_site"], id="a path of a scenario"),
    pytest.param(("describe", "grid.queues.EAST.workflow"), ["grid.queues.<name>", "pull_ups"], id="a key of a path"),
    pytest.param(("describe", "jobs.parquet"), ["panda_id"], id="the file of a table"),
    pytest.param(("describe", "activated"), ["Activated jobs"], id="a status"),
])
def test_what_a_person_types_is_looked_up(call, arguments, words):
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    assert [word for word in words if word not in " ".join(result.stdout.split())] == []


def test_a_name_of_nothing_is_refused(call):
    result = call("describe", "-statsu")
    assert result.exit_code == 2 and "no topic, rule, status, key or column" in result.stderr
    assert "did you mean '-status'" in result.stderr

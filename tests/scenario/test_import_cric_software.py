import json
from pathlib import Path

import pytest

from simgrid_broker.errors import InputFileError, ScenarioError
from simgrid_broker.scenario.importers.cric import read_software
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.world.world import queue_software

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT.parent / "shared" / "data" / "software" / "sw_tags_example.json"
ENTRY = {"cmtconfigs": ["x86_64-el9-gcc13-opt"], "containers": ["any"], "cvmfs": ["atlas"],
         "architectures": [{"type": "gpu", "vendor": ["nvidia"], "version": "12.4"}],
         "tags": [{"project": "Athena", "release": "24.0.5", "tag": "VO-atlas"}]}


def written(tmp_path, value):
    """A file with a JSON value."""
    path = tmp_path / "software.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def scenario(tmp_path, software, *lines):
    """The smallest scenario that comes with the project, with a file of software and more lines."""
    written(tmp_path, software)
    text = (ROOT / "scenarios" / "minimal.yaml").read_text().replace("grid:\n", "grid:\n  software: software.json\n")
    (tmp_path / "plan.yaml").write_text(text + "\n".join(lines))
    return load_scenario(tmp_path / "plan.yaml")


def test_entries_of_queues_are_read_and_others_are_counted(tmp_path):
    path = written(tmp_path, {"HERE": ENTRY, "ELSEWHERE": ENTRY, "ALL": {"tags": ENTRY["tags"]}})
    found, everywhere, remarks = read_software(path, ["HERE", "THERE"])
    assert set(found) == {"HERE"} and found["HERE"]["architectures"] == [
        {"type": "gpu", "vendor": ["nvidia"], "version": ["12.4"]}]
    assert everywhere["tags"][0]["project"] == "Athena"
    assert remarks[0].endswith("3 entries, of which 1 are of queues of the grid") and "ELSEWHERE" in remarks[1]


@pytest.mark.parametrize(("change", "key", "value", "remark"), [
    pytest.param({"cvmfs": "atlas"}, "cvmfs", ["atlas"], None, id="one text is a list of one"),
    pytest.param({"cvmfs": None}, "cvmfs", None, None, id="null says nothing"),
    pytest.param({"cvmfs": ["atlas", {}]}, "cvmfs", ["atlas"], "not text", id="an object among texts"),
    pytest.param({"architectures": [{"type": "fpga"}]}, "architectures", [], "neither cpu nor gpu", id="no GPU"),
    pytest.param({"tags": ["Athena"]}, "tags", [], "no objects", id="a tag that is no object"),
    pytest.param({"colour": "red"}, "cvmfs", ["atlas"], "nothing here reads", id="an unknown field"),
    pytest.param({"architectures": [{"type": "cpu", "arch": [""]}]}, "architectures", [{"type": "cpu", "arch": [""]}],
                 None, id="an empty text means something"),
])
def test_odd_values(tmp_path, change, key, value, remark):
    found, _, remarks = read_software(written(tmp_path, {"HERE": ENTRY | change}), ["HERE"])
    assert found["HERE"].get(key) == value
    assert len(remarks) == 1 + (remark is not None) and (remark or "") in remarks[-1]


@pytest.mark.parametrize("value", ["{", "[]", '{"HERE": []}'])
def test_files_that_hold_something_else(tmp_path, value):
    with pytest.raises(InputFileError):
        read_software(written(tmp_path, value), ["HERE"])


def test_a_scenario_reads_the_file_and_its_own_words_win(tmp_path):
    plan = scenario(tmp_path, {"NORTH": ENTRY, "SOUTH": ENTRY, "ALL": ENTRY})
    assert plan.grid.queues["NORTH"].software.cvmfs == ("atlas",) and plan.grid.queues["CENTRE"].software is None
    assert plan.grid.software_of_all.tags[0].release == "24.0.5"
    assert plan.origin("grid.queues.NORTH.software").kind == "CRIC"
    changed = plan.with_values({"grid.queues.NORTH.software.cvmfs": ["nightlies"]})
    assert changed.grid.queues["NORTH"].software.cvmfs == ("nightlies",)
    assert type(plan).from_dict(plan.to_dict()) == plan


def test_a_missing_file_is_told(tmp_path):
    text = (ROOT / "scenarios" / "minimal.yaml").read_text().replace("grid:\n", "grid:\n  software: nowhere.json\n")
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=r"plan.yaml:11: grid.software = .*there is no such file"):
        load_scenario(tmp_path / "plan.yaml")


def test_a_broken_file_is_told(tmp_path):
    with pytest.raises(ScenarioError, match="software.json:1.*valid JSON"):
        scenario(tmp_path, "{")


def test_the_example_of_the_documentation():
    if not EXAMPLE.is_file():
        pytest.skip(f"{EXAMPLE} is not there")
    found, _, remarks = read_software(EXAMPLE, ["AGLT2"])
    assert len(found["AGLT2"]["tags"]) == 2 and len(remarks) == 1


def test_queues_that_are_alike_share_one_description(tmp_path):
    plan = scenario(tmp_path, {"NORTH": ENTRY, "SOUTH": ENTRY})
    assert list(plan.grid.queues) == ["CENTRE", "NORTH", "SOUTH"]         # as without the file
    centre, north, south = queue_software(plan.grid)
    assert north is south and centre is not north and centre.published is None
    assert north.published.architectures[0].vendor == ("nvidia",)


def test_worker_nodes_report_text(tmp_path):
    plan = scenario(tmp_path, {}).with_values({
        "grid.queues.NORTH.gpus": [{"vendor": "NVIDIA", "vram": "81920 MB", "driver_version": "575.57.08"}],
        "grid.queues.NORTH.cpu_levels": {"x86-64-v3": "25%"}})
    north = queue_software(plan.grid)[1]
    assert north.gpus[0].vram == 81920 and north.gpus[0].model is None
    assert north.cpu_levels == (("x86-64-v3", 25.0),)

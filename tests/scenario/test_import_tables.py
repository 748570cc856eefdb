"""Operators' tables: shares, resource types, slots, gdpconfig and Harvester's limits become parts of a scenario."""

import json
from pathlib import Path

import pytest
import yaml

from simgrid_broker.errors import InputFileError
from simgrid_broker.scenario import load_scenario
from simgrid_broker.scenario.importers import read_gdpconfig, read_harvester, read_shares, write_part
from simgrid_broker.schema.queues import Queue

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real files is not here")
PLAIN = dict(name="plain", duration=3600, grid=dict(
    sites={"A": dict(cores=8, nucleus=True)}, queues={"Q": dict(atlas_site="A")},
    storages={"A_DISK": dict(site="A", total=1e15, free=1e15)}))


def file(folder: Path, content, name="table.json") -> Path:
    """A JSON file."""
    path = folder / name
    path.write_text(json.dumps(content, indent=1))
    return path


def loaded(folder: Path, part: dict, **base):
    """A scenario that extends a plain one and the part."""
    (folder / "plain.yaml").write_text(yaml.safe_dump(PLAIN | base))
    write_part(part, folder / "part.yaml", ["origin"])
    whole = folder / "whole.yaml"
    whole.write_text("extends: [plain.yaml, part.yaml]\nname: whole\n")
    return load_scenario(whole)


def row(name, value=1, parent=None, **others) -> dict:
    """A row of GLOBAL_SHARES."""
    return dict(name=name, value=value, parent=parent, **others)


def test_rows_of_shares_become_a_tree_in_the_order_of_the_table(tmp_path):
    rows = [row("A", 20, processingtype="evgen"), row("P", "80", THROTTLED="Y"), row("P2", 3, "P", throttled="N"),
            row("P1", 1, "P", vo="atlas")]
    part, remarks = read_shares(file(tmp_path, {"rows": rows}))
    shares = loaded(tmp_path, part).shares
    assert [(share.name, share.value) for share in shares] == [("A", 20), ("P", 80)]
    assert [(share.name, share.throttled) for share in shares[1].children] == [("P2", False), ("P1", True)]
    assert shares[0].processingtype == "evgen"
    assert remarks == ["3 leaf shares from table.json", "values of vo, which is not used: 1 (P1)"]


def test_a_printed_tree_is_read_like_rows(tmp_path):
    tree = {"tree": {"name": "ATLAS", "value": None, "children": [
        dict(name="A", value=20), dict(name="P", value=80, children=[dict(name="P1", value=80.0)])]}}
    part, remarks = read_shares(file(tmp_path, tree))
    assert part["shares"] == [dict(name="A", value=20), dict(name="P", value=80, children=[dict(name="P1", value=80)])]
    assert "the first leaf takes every task" in remarks[1]


@pytest.mark.parametrize(("rows", "line", "key", "close"), [
    pytest.param([row("A"), row("B", 1, "a")], 9, "'B': parent", ("A",), id="an unknown parent"),
    pytest.param([row("A"), row("A")], 4, "'A': name", (), id="a name twice"),
    pytest.param([row("A", -1)], 4, "'A': value", (), id="a negative value"),
    pytest.param([row("A", None)], 4, "'A': value", (), id="no value"),
    pytest.param([row("A", processingtyp="x")], 4, "'A': processingtyp", ("processingtype",), id="an unknown column"),
    pytest.param([row("A", campaign="(")], 4, "'A': campaign", (), id="no regular expression"),
    pytest.param([row("R"), row("A", 1, "B"), row("B", 1, "A")], 9, "'A': parent", (), id="a circle"),
])
def test_bad_rows_of_shares_are_refused_with_line_and_near_match(tmp_path, rows, line, key, close):
    with pytest.raises(InputFileError) as error:
        read_shares(file(tmp_path, {"rows": rows}))
    found = {problem.key: problem for problem in error.value.problems}
    assert key in found and found[key].line == line and found[key].nearest[:1] == close


def test_a_tree_with_an_unknown_field_is_refused(tmp_path):
    with pytest.raises(InputFileError, match=r"'A': vlue.*did you mean 'value'"):
        read_shares(file(tmp_path, {"children": [dict(name="A", value=1, vlue=2)]}))


def test_children_that_are_no_list_are_refused(tmp_path):
    with pytest.raises(InputFileError, match=r"'A': children = 3: expected a list of shares"):
        read_shares(file(tmp_path, {"children": [dict(name="A", value=1, children=3)]}))


def test_resource_types_and_slots_come_with_the_shares(tmp_path):
    types = [dict(resource_name="SCORE", mincore=1, maxcore=1, minrampercore=None, maxrampercore=2000),
             dict(resource_name="MCORE", mincore=2, maxcore=None, minrampercore=None, maxrampercore=None)]
    slots = [dict(pandaqueuename="Q", gshare=None, resourcetype=None, numslots=7, expirationtime="2026-01-01",
                  modificationtime="2025-12-01"),
             dict(pandaqueuename="Q2", gshare="A", resourcetype=None, numslots=7),
             dict(pandaqueuename="Q2", gshare=None, resourcetype="MCORE", numslots=0),
             dict(pandaqueuename="Q3", gshare=None, resourcetype=None, numslots=-1)]
    part, remarks = read_shares(file(tmp_path, [row("A", workinggroup="x")]), file(tmp_path, types, "types.json"),
                                file(tmp_path, slots, "slots.json"))
    grid = PLAIN["grid"] | dict(queues=dict.fromkeys(("Q", "Q2"), PLAIN["grid"]["queues"]["Q"]))
    whole = loaded(tmp_path, part, grid=grid)
    assert whole.grid.queues["Q"].num_slots == 7 and not whole.grid.queues["Q"].slot_requests
    assert [(each.gshare, each.resource_type, each.slots) for each in whole.grid.queues["Q2"].slot_requests] == [
        ("A", None, 7), (None, "MCORE", 0)]
    assert list(whole.resource_types) == ["SCORE", "MCORE"] and whole.resource_types["SCORE"].maxrampercore == 2000
    assert [remark.partition(":")[0] for remark in remarks[1:]] == [
        "values of modificationtime, which is not used", "slots that expire, which are kept to the end",
        "queues with negative slots, which PanDA ignores"]


@pytest.mark.parametrize(("types", "expected"), [
    pytest.param(dict(resource_name="SCORE", mincores=1), "'SCORE': mincores.*did you mean 'mincore'", id="a column"),
    pytest.param(dict(resource_name="SCOR"), "'SCOR': resource_name.*did you mean 'SCORE'", id="a name"),
    pytest.param(dict(resource_name="SCORE", mincore=1.5), "'SCORE': mincore.*whole number", id="half a core"),
])
def test_a_resource_description_with_unknown_fields_is_refused(tmp_path, types, expected):
    with pytest.raises(InputFileError, match=expected):
        read_shares(file(tmp_path, [row("A")]), file(tmp_path, [types], "types.json"))


def key(key, value, component="jobbroker", **others) -> dict:
    """A row of the table config."""
    return dict(app="jedi", component=component, key=key, value=value, vo="atlas") | others


def test_rows_of_gdpconfig_are_typed_and_what_is_not_used_is_named(tmp_path):
    rows = [key("NW_ACTIVE", "True"), key("NQUEUED_SAT_CAP", "99", type="int"), key("NQUEUED_SAT_CAP", "1", vo="cms"),
            key("NW_THRESHOLD", "much"), key("NO_SUCH_KEY", "1"), key("NQUEUELIMITSITE_<gshare>", "1"),
            key("MAX_PRIO_TO_BOOTSTRAP", None), key("THROTTLE_THRESHOLD", 3, "prod_job_throttler", app="pandaserver")]
    part, remarks = read_gdpconfig(file(tmp_path, [{name.upper(): value for name, value in row.items()}
                                                   for row in rows]))
    assert part == {"gdpconfig": {"jobbroker.NW_ACTIVE": True, "jobbroker.NQUEUED_SAT_CAP": 99,
                                  "prod_job_throttler.THROTTLE_THRESHOLD": 3.0}}
    assert loaded(tmp_path, part, shares=[dict(name="A", value=1)]).gdpconfig == part["gdpconfig"]
    text = "\n".join(remarks)
    for said in ("3 of 8 keys", "other virtual organisations, not used: 1 (jobbroker.NQUEUED_SAT",
                 "NW_THRESHOLD = 'much'", "no rule here reads, not used: 1 (jobbroker.NO_SUCH_KEY)", "families of keys",
                 "without a value, which are not set: 1 (jobbroker.MAX_PRIO", "another application than jedi"):
        assert said in text, said


def test_a_file_that_is_no_table_is_refused(tmp_path):
    with pytest.raises(InputFileError, match="a list of rows was expected"):
        read_gdpconfig(file(tmp_path, {"NW_ACTIVE": True}))
    with pytest.raises(InputFileError, match="valu.*did you mean 'value'"):
        read_gdpconfig(file(tmp_path, [dict(component="jobbroker", key="NW_ACTIVE", valu=1)]))


TEMPLATES = {"production.pull_ups": dict(isTemplateQueue=True, mapType="NoJob", runMode="slave", maxWorkers=50,
                                         nQueueLimitWorkerRatio=40, submitter=dict(name="x")),
             "slow": dict(isTemplateQueue=True, mapType="OneToOne", nQueueLimitJob=5, maxWorkers=9)}


def queues(**said: dict) -> dict[str, Queue]:
    """Queues of a grid."""
    return {name: Queue(**dict(atlas_site="A") | fields) for name, fields in said.items()}


def test_harvesters_limits_become_options_of_the_queues(tmp_path):
    config = TEMPLATES | {"Q": dict(templateQueueName="slow", nQueueLimitJob=7, queueStatus="offline", walltimeLimit=1),
                          "ELSEWHERE": dict(maxWorkers=1), "ZERO": dict(nQueueLimitWorker=0, mapType="NoJob")}
    part, remarks = read_harvester(file(tmp_path, config), queues(
        Q={}, T=dict(params=dict(maxWorkers=3)), ZERO=dict(workflow="pull"), ANALY=dict(type="analysis")))
    assert part == {"grid": {"queues": {
        "Q": dict(workflow="push", status="offline", params=dict(nQueueLimitJob=7, maxWorkers=9)),
        "T": dict(params=dict(nQueueLimitWorkerRatio=40))}}}
    assert remarks == [
        "options of 2 queues from table.json", "entries that are no queues of the grid, not used: 1 (ELSEWHERE)",
        "values of nQueueLimitWorker that are not numbers from 1 up, not used: 1 (ZERO: 0)",
        "queues without an entry or a template, left as they are: 1 (ANALY)",
        "settings that no agent here reads, not used: submitter, walltimeLimit"]
    found = loaded(tmp_path, {"grid": {"queues": {"Q": part["grid"]["queues"]["Q"]}}},
                   shares=[dict(name="A", value=1)]).grid.queues["Q"]
    assert (found.workflow, found.status, found.params["maxWorkers"]) == ("push", "offline", 9)


def test_factors_of_pull_queues_become_options(tmp_path):
    config = {"Q": dict(mapType="NoJob", activateWorkerFactor="auto", nCoreFactor="2", noPilotsWhenNoActiveJobs=True,
                        nQueueLimitWorkerRatio=0)}
    part, remarks = read_harvester(file(tmp_path, config), queues(Q=dict(workflow="pull")))
    assert part["grid"]["queues"]["Q"]["params"] == dict(activateWorkerFactor="auto", nCoreFactor=2,
                                                         noPilotsWhenNoActiveJobs=True)
    assert remarks[1:] == ["values of nQueueLimitWorkerRatio that are not numbers above 0, not used: 1 (Q: 0)"]


def test_throttlers_of_harvester_become_those_of_queues(tmp_path):
    rules = [dict(level="pq", timeWindow=10, maxMissed=10), dict(level="ce", timeWindow=10, maxMissed=5)]
    plug_in = dict(name="SimpleThrottler", rulesForMissed=rules, logicType="AND")
    own = dict(rulesForMissed=[dict(timeWindow=1, maxMissed=1)])
    part, remarks = read_harvester(file(tmp_path, {name: dict(throttler=plug_in) for name in ("Q", "OWN")} | {
        "NONE": dict(throttler=dict(name="DummyThrottler"))}), queues(Q={}, OWN=dict(throttler=own), NONE={}))
    assert part["grid"]["queues"] == {"Q": dict(throttler=dict(rulesForMissed=rules[:1], logicType="AND"))}
    assert remarks[1].startswith("rules of throttlers other than of level pq or site with a time and a number, not used"
                                 ": 2 (Q: {'level': 'ce', 'timeWindow': 10, 'maxMissed': 5}, OWN")


@needs_data
@pytest.mark.parametrize("name", ["global_shares_2018-07", "global_shares_2018-07_rows_derived"])
def test_the_tree_of_2018_has_its_18_leaves(tmp_path, name):
    part, remarks = read_shares(DATA / "shares" / f"{name}.json")
    assert remarks[0] == f"18 leaf shares from {name}.json"
    assert len(loaded(tmp_path, part).shares) == 4


@needs_data
def test_the_defaults_of_gdpconfig_are_a_part_that_loads(tmp_path):
    part, _ = read_gdpconfig(DATA / "gdpconfig" / "gdpconfig_defaults.json")
    whole = loaded(tmp_path, part, shares=[dict(name="A", value=1)])
    assert len(whole.gdpconfig) == 78 and whole.gdpconfig["jobdispatch.SLOPPY_DISPATCH_RATIO"] == 10


@needs_data
@pytest.mark.parametrize("path", sorted((DATA / "harvester").glob("*.json")), ids=lambda path: path.stem)
def test_real_configurations_of_harvester_can_be_read(path):
    part, remarks = read_harvester(path, queues(CERN={}, BNL_PROD_5={}, PUSH_MODEL={}, OTHER=dict(workflow="push")))
    for name, fields in part["grid"]["queues"].items():
        Queue(atlas_site="A", **fields)
        assert name in ("CERN", "BNL_PROD_5", "PUSH_MODEL", "OTHER")
    assert remarks

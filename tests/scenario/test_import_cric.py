"""CRIC dumps as grids: odd values, what is left out, storages, closeness, made-up sizes, and the file written."""

import gzip
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.errors import InputFileError, OutputError
from simgrid_broker.scenario.importers import read_cric, write_grid
from simgrid_broker.scenario.importers.cric_storages import ENDPOINT_TB, assumed_cores, assumed_nuclei, assumed_space
from simgrid_broker.scenario.importers.files import well_formed
from simgrid_broker.scenario.importers.grid_file import WITH_UNIT, with_units
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.scenario.model import Grid

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "cric"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real files is not here")


def pandaqueue(**fields):
    """A plain queue of site S, but for the fields named; `...` removes one."""
    plain = {"atlas_site": "S", "status": "online", "state": "ACTIVE", "type": "unified", "capability": "ucore",
             "workflow": "pull_ups", "corecount": 8, "corepower": 12.5, "maxrss": 16000, "maxtime": 345600,
             "tier": "T2D", "tier_level": 2, "cloud": "DE", "releases": ["ANY"], "queues": [{}],
             "astorages": {"read_lan": ["S_DATADISK"], "write_lan": ["S_DATADISK"]}}
    return {key: value for key, value in (plain | fields).items() if value is not ...}


def file_of(tmp_path, value, name="queues.json"):
    """A JSON file, or a file of this text."""
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def read(tmp_path, queues, rses=None, closeness=None):
    """Grid and remarks of these queues; the grid is a valid one."""
    paths = [file_of(tmp_path, queues), *(None if value is None else file_of(tmp_path, value, name)
                                          for value, name in ((rses, "rses.json"), (closeness, "closeness.json")))]
    grid, remarks = read_cric(*paths)
    Grid.model_validate(grid)
    return grid, remarks


def queue_of(tmp_path, **fields):
    """The queue Q as the model reads it."""
    grid, _ = read(tmp_path, {"Q": pandaqueue(**fields)})
    return Grid.model_validate(grid).queues["Q"]


def problems_of(call):
    """The problems of the InputFileError that `call` raises."""
    with pytest.raises(InputFileError) as caught:
        call()
    return caught.value.problems


@pytest.mark.parametrize(("fields", "name", "expected"), [
    pytest.param({"maxrss": "16000"}, "maxrss", 16000, id="a number as text"),
    pytest.param({"maxrss": ""}, "maxrss", 0, id="an empty text says nothing"),
    pytest.param({"maxrss": None}, "maxrss", 0, id="null says nothing"),
    pytest.param({"maxrss": ...}, "maxrss", 0, id="a missing key says nothing"),
    pytest.param({"maxrss": "lots"}, "maxrss", 0, id="letters are read as the default"),
    pytest.param({"maxrss": -5}, "maxrss", 0, id="a negative limit is read as the default"),
    pytest.param({"maxrss": [1]}, "maxrss", 0, id="a list is no number"),
    pytest.param({"corecount": None}, "corecount", 1, id="no corecount is read as 1"),
    pytest.param({"corepower": None}, "corepower", 0, id="unknown corepower stays unknown"),
    pytest.param({"pledgedcpu": -1}, "pledgedcpu", -1, id="-1 pledged: opportunistic"),
    pytest.param({"pledgedcpu": "-1"}, "pledgedcpu", -1, id="the same as text"),
    pytest.param({"pledgedcpu": "x"}, "pledgedcpu", 0, id="a pledge that is no number"),
    pytest.param({"maxinputsize": -1}, "maxinputsize", -1, id="-1 input size: always direct"),
    pytest.param({"maxinputsize": None}, "maxinputsize", 0, id="no input size"),
    pytest.param({"timefloor": None}, "timefloor", 0, id="no timefloor: one job per pilot"),
    pytest.param({"maxwdir": 5000}, "maxwdir", 5000, id="scratch"),
    pytest.param({"maxwdir": None, "maxinputsize": 7}, "maxwdir", 0, id="null scratch is 0"),
    pytest.param({"maxwdir": "x", "maxinputsize": 7}, "maxwdir", 2007, id="unreadable scratch: input size + margin"),
    pytest.param({"maxwdir": "x", "maxinputsize": "y"}, "maxwdir", 16336, id="neither can be read"),
    pytest.param({"maxwdir": "x", "maxinputsize": 0}, "maxwdir", 0, id="unreadable scratch, input size 0"),
    pytest.param({"maxwdir": "x"}, "maxwdir", 0, id="unreadable scratch, no input size"),
    pytest.param({"catchall": "a,per_core_attr"}, "maxrss", 128000, id="per_core_attr makes limits those of a slot"),
    pytest.param({"catchall": "a,per_core_attr=1"}, "catchall", "a", id="and is gone, lest it scales twice"),
    pytest.param({"params": {"per_core_attr": True}}, "maxrss", 16000, id="per_core_attr in params does not scale"),
    pytest.param({"params": {"per_core_attr": True}}, "params", {}, id="nor later, when the tables are built"),
    pytest.param({"catchall": "per_core_attr", "corecount": 0}, "maxrss", 16000, id="nothing to scale with"),
    pytest.param({"type": ...}, "type", "production", id="no type is production"),
    pytest.param({"type": "production", "catchall": "grandly_unified"}, "type", "unified", id="unified by catchall"),
    pytest.param({"type": "analysis", "params": {"grandly_unified": True}}, "type", "unified", id="unified by params"),
    pytest.param({"status": "Online"}, "status", "online", id="case does not count"),
    pytest.param({"status": "weird"}, "status", "offline", id="an unknown status takes no work"),
    pytest.param({"status": None}, "status", "offline", id="no status takes no work"),
    pytest.param({"capability": "", "corecount": 1}, "capability", "score", id="capability by the cores: one"),
    pytest.param({"capability": "x", "corecount": 4}, "capability", "mcore", id="capability by the cores: four"),
    pytest.param({"workflow": None}, "workflow", "pull_ups", id="no workflow is pilot streaming"),
    pytest.param({"jobseed": ""}, "jobseed", "std", id="no jobseed is std"),
    pytest.param({"releases": []}, "releases", (), id="no releases"),
    pytest.param({"releases": "21.0|22.0"}, "releases", ("21.0", "22.0"), id="releases in one text"),
    pytest.param({"direct_access_lan": "true"}, "direct_access_lan", False, id="only the JSON value true counts"),
    pytest.param({"direct_access_lan": True}, "direct_access_lan", True, id="direct access"),
    pytest.param({"wnconnectivity": "http#IPv4"}, "wnconnectivity", "http#IPv4", id="network and stack"),
    pytest.param({"wnconnectivity": ""}, "wnconnectivity", "", id="network not set"),
    pytest.param({"fairsharepolicy": "type=evgen:0%;type=any:1"}, "fairsharepolicy", "type=evgen:0%;type=any:1",
                 id="a malformed policy is kept"),
    pytest.param({"params": {"resource_type_limits.SCORE": 5, "pilot_url": "x"}}, "params",
                 {"resource_type_limits.SCORE": 5}, id="options of pilots are left out"),
    pytest.param({"uconfig": {"resource_type_limits": {"SCORE": 5, "MCORE": 7}},
                  "params": {"resource_type_limits.SCORE": 6}}, "params",
                 {"resource_type_limits.SCORE": 6, "resource_type_limits.MCORE": 7}, id="params win over uconfig"),
    pytest.param({"params": "x"}, "params", {}, id="params that are no object"),
])
def test_values_of_a_queue(tmp_path, fields, name, expected):
    assert getattr(queue_of(tmp_path, **fields), name) == expected


@pytest.mark.parametrize(("name", "fields", "word"), [
    pytest.param("ALL", {}, "default software tags", id="ALL is no queue"),
    pytest.param("", {}, "no name", id="no name"),
    pytest.param("X", {"state": "DISABLED"}, "not ACTIVE", id="a disabled object"),
    pytest.param("X", {"type": "special"}, "special", id="a type that no broker knows"),
    pytest.param("X", {"atlas_site": ""}, "no atlas_site", id="no site"),
    pytest.param("X", {"nickname": "Q"}, "nickname", id="the nickname of another queue"),
])
def test_what_is_no_queue_is_left_out_and_told(tmp_path, name, fields, word):
    grid, remarks = read(tmp_path, {"Q": pandaqueue(), name: pandaqueue(**fields)})
    assert list(grid["queues"]) == ["Q"]
    assert [remark for remark in remarks if remark.startswith("objects left out") and word in remark]


def test_queues_are_named_by_nickname(tmp_path):
    grid, _ = read(tmp_path, {"Q": pandaqueue(nickname="N")})
    assert list(grid["queues"]) == ["N"]


@pytest.mark.parametrize(("fields", "word"), [
    pytest.param({"corecount": None}, "without corecount", id="corecount"),
    pytest.param({"queues": []}, "without any computing element", id="computing element"),
    pytest.param({"astorages": {}}, "without storages", id="storages"),
    pytest.param({"workflow": None}, "served by pilot streaming", id="no workflow"),
    pytest.param({"releases": ["AUTO"]}, "releases AUTO", id="AUTO"),
    pytest.param({"fairsharepolicy": "evgen=100%"}, "malformed fairsharepolicy", id="policy"),
    pytest.param({"maxrss": "x"}, "whose maxrss is not a number", id="a number"),
    pytest.param({"tier": "", "tier_level": None}, "without a tier", id="tier"),
])
def test_remarks_on_queues_are_counted(tmp_path, fields, word):
    _, remarks = read(tmp_path, {name: pandaqueue(**fields) for name in "ABCDE"})
    remark, = (remark for remark in remarks if word in remark)
    assert remark.endswith(": 5, for example A, B, C")


@pytest.mark.parametrize(("policy", "good"), [
    pytest.param("type=simul:100%,type=any:0%", True, id="types"),
    pytest.param("priority>500:0", True, id="priority"),
    pytest.param("type=simul:0%,group=GP_VALI:100%,group=GP_*:0%", True, id="groups"),
    pytest.param("type=evgen:group=x:0", True, id="two conditions"),
    pytest.param("type=evgen:0%;type=any:100%", False, id="a semicolon for a comma"),
    pytest.param("type=any:0%,evgen=100%", False, id="a policy without its field"),
])
def test_well_formed(policy, good):
    assert well_formed(policy) == good


def test_sites_are_the_distinct_atlas_sites(tmp_path):
    grid, _ = read(tmp_path, {"A": pandaqueue(), "B": pandaqueue(tier="T1", tier_level=1), "C": pandaqueue(
        atlas_site="T", tier="T1", tier_level="1", cloud="US,CA")})
    assert {name: (site["tier"], site["region"]) for name, site in grid["sites"].items()} == {
        "S": (2, "DE"), "T": (1, "US")}


def test_cores_of_a_site(tmp_path):
    alone, _ = read(tmp_path, {"A": pandaqueue()})
    both, _ = read(tmp_path, {"A": pandaqueue(), "B": pandaqueue(params={"ups_core_target": 12000}),
                              "C": pandaqueue(status="test"), "D": pandaqueue(pledgedcpu=500)})
    assert both["sites"]["S"]["cores"] == alone["sites"]["S"]["cores"] + 12500
    none_online, _ = read(tmp_path, {"C": pandaqueue(status="test", pledgedcpu=40, corecount=64)})
    assert none_online["sites"]["S"]["cores"] == 64


def test_made_up_sizes_hang_on_name_and_tier_alone():
    assert assumed_cores("AGLT2", "T2D") == assumed_cores("AGLT2", "T2D")
    assert assumed_cores("AGLT2", "T2D") != assumed_cores("AGLT3", "T2D")
    means = [sum(assumed_cores(f"Q{k}", tier) for k in range(300)) for tier in ("T0", "T1", "T2", "T3")]
    assert means == sorted(means, reverse=True)
    assert all(assumed_cores(f"Q{k}", "T3") % 8 == 0 for k in range(50))


def test_made_up_space():
    space = assumed_space("X_DATADISK", "T1")
    assert ENDPOINT_TB[0][1] * 1e12 <= space["total"] <= ENDPOINT_TB[-1][1] * 1e12
    assert space["free"] / space["total"] == pytest.approx(0.109, rel=0.01)
    assert space["expired"] / space["total"] == pytest.approx(0.25, rel=0.01)


def test_nuclei_are_tier_0_and_1_and_the_larger_half_of_t2d():
    tiers = {"A": "T0", "B": "T1", "C": "T2D", "D": "T2D", "E": "T2D", "F": "T2", "G": "T3D"}
    assert assumed_nuclei(tiers, dict(zip("ABCDEFG", (1, 1, 1, 2, 3, 9, 9), strict=True))) == set("ABDE")


def test_a_nucleus_needs_a_storage_of_its_own_and_production(tmp_path):
    t1 = {"tier": "T1", "tier_level": 1}
    grid, _ = read(tmp_path, {
        "A": pandaqueue(**t1), "B": pandaqueue(atlas_site="T", **t1),
        "C": pandaqueue(atlas_site="U", type="analysis", astorages={"write_lan": ["U_DATADISK"]}, **t1)})
    assert {name: site["nucleus"] for name, site in grid["sites"].items()} == {"S": True, "T": False, "U": False}


@pytest.mark.parametrize(("astorages", "storage"), [
    pytest.param({"write_lan": ["S_DATADISK"]}, "S_DATADISK", id="the only one"),
    pytest.param({"write_lan": ["S_SCRATCHDISK", "S_DATADISK"]}, "S_DATADISK", id="a DATADISK before others"),
    pytest.param({"write_lan": ["T_DATADISK", "S_DATADISK"]}, "S_DATADISK", id="its own before others"),
    pytest.param({"write_lan": ["T_DATADISK"]}, "T_DATADISK", id="another site's if it has none"),
    pytest.param({"write_lan": ["S_B_DATADISK", "S_A_DATADISK"]}, "S_A_DATADISK",
                 id="then by name, as endpoints are sorted"),
    pytest.param({"write_lan_analysis": ["S_A_DATADISK"], "write_lan": ["S_DATADISK"]}, "S_DATADISK",
                 id="the scope of analysis does not count"),
    pytest.param({"pw": ["S_DATADISK"], "es_logs": ["X"]}, None, id="old roles do not count"),
    pytest.param({"read_lan": ["S_DATADISK"]}, None, id="reading does not count"),
    pytest.param({"write_lan": "S_DATADISK"}, None, id="no list"),
])
def test_storage_of_a_site(tmp_path, astorages, storage):
    grid, _ = read(tmp_path, {"Q": pandaqueue(astorages=astorages), "R": pandaqueue(
        atlas_site="T", astorages={"read_lan": ["T_DATADISK"]})})
    assert grid["sites"]["S"].get("storage") == storage


def test_storages_and_their_sites(tmp_path):
    grid, remarks = read(tmp_path, {
        "A": pandaqueue(astorages={"read_lan": ["S-EOS_DATADISK", "X_DATADISK", "S_DATATAPE"], "pr": ["OLD"]}),
        "B": pandaqueue(atlas_site="T", tier="T1", tier_level=1, astorages={"read_lan": ["X_DATADISK"]})})
    assert {name: (storage["site"], storage["type"], storage.get("tape", False))
            for name, storage in grid["storages"].items()} == {
        "S-EOS_DATADISK": ("S", "DATADISK", False), "X_DATADISK": ("T", "DATADISK", False),
        "S_DATATAPE": ("S", "DATATAPE", True)}
    assert any("given to the site" in remark and "X_DATADISK" in remark for remark in remarks)
    assert any("does not read: pr" in remark for remark in remarks)


def test_endpoints_of_queues(tmp_path):
    """The first of a role and scope is its default; places differ by role; without any list a queue has none."""
    grid, remarks = read(tmp_path, {
        "A": pandaqueue(astorages={"read_lan": ["S_DATADISK", "T_VP_DISK"], "write_lan": ["T_DATADISK", "S_DATADISK"],
                                   "write_lan_analysis": ["S_SCRATCHDISK"], "read_lan_odd": ["S_DATADISK"]}),
        "B": pandaqueue(atlas_site="T", astorages={}), "C": pandaqueue(atlas_site="T", astorages={"pr": ["OLD"]})})
    first = {"default_read": True, "default_write": True}
    assert grid["queues"]["A"]["endpoints"] == [
        dict(storage="S_DATADISK", write=False, default_read=True),
        dict(storage="T_DATADISK", read=False, is_local=False, default_write=True),
        dict(storage="S_DATADISK", read=False, order=2),
        dict(storage="T_VP_DISK", write=False, is_local=False, order=2),
        dict(storage="S_SCRATCHDISK", scope="analysis", read=False, default_write=True)]
    assert grid["queues"]["B"]["endpoints"] == grid["queues"]["C"]["endpoints"] == []
    assert any("scopes of storages" in remark and "(odd)" in remark for remark in remarks)
    plain, _ = read(tmp_path, {"A": pandaqueue()})
    assert plain["queues"]["A"]["endpoints"] == [dict(storage="S_DATADISK", **first)]
    bare, _ = read(tmp_path, {"A": pandaqueue(astorages={})})
    assert "endpoints" not in bare["queues"]["A"]


def test_ddm_endpoints_tell_site_type_and_state(tmp_path):
    queues = {"A": pandaqueue(astorages={"write_lan": ["GONE_DATADISK", "OFF_DATADISK", "ODD"]}),
              "B": pandaqueue(atlas_site="T")}
    rses = {"OFF_DATADISK": {"state": "DISABLED", "site": "S"},
            "ODD": {"state": "ACTIVE", "site": "T", "type": "DATADISK", "is_tape": True}}
    grid, remarks = read(tmp_path, queues, rses)
    assert {name: (storage["site"], storage["type"], storage["tape"]) for name, storage in grid["storages"].items()
            } == {"ODD": ("T", "DATADISK", True)}
    assert grid["queues"]["A"]["endpoints"] == [dict(storage="ODD", read=False, is_local=False, order=3)]
    assert any("the DDM endpoints do not: 2 (GONE_DATADISK, S_DATADISK)" in remark for remark in remarks)
    assert any("state is not ACTIVE: 1 (OFF_DATADISK)" in remark for remark in remarks)


def test_relations_in_a_file_of_their_own(tmp_path):
    rses = {"S_DATADISK": [{"panda_queue": "A", "role": "write_lan", "order": 1},
                           {"panda_queue": "GONE", "role": "write_lan", "order": 1}]}
    grid, remarks = read(tmp_path, {"A": pandaqueue(astorages=None)}, rses)
    assert grid["sites"]["S"]["storage"] == "S_DATADISK"
    assert any("not simulated: 1 (GONE)" in remark for remark in remarks)


def test_closeness(tmp_path):
    queues = {"A": pandaqueue(), "B": pandaqueue(atlas_site="T")}
    matrix = [{"src": "S", "dst": "T", "closeness": 4}, {"src": "T", "dst": "S", "closeness": "11"},
              {"src": "S", "dst": "S", "closeness": -1}, {"src": "S", "dst": "ELSEWHERE", "closeness": 4},
              {"src": "", "dst": "T", "closeness": 4}, {"src": "S"}, 5, {"src": "T", "dst": "T", "closeness": 12}]
    grid, remarks = read(tmp_path, queues, closeness=matrix)
    assert grid["links"]["closeness"] == {"sites": ["S", "T"], "rows": ["-4", "b."]}
    for words in ("without src, dst or closeness: 3", "without queues here: 1 (S to ELSEWHERE)", "not -1 to 11: 1"):
        assert any(words in remark for remark in remarks)


@pytest.mark.parametrize(("text", "line", "word"), [
    pytest.param('{"Q": {"a": 1},\n "R": {"b"', 2, "cut", id="cut"),
    pytest.param('{\n"Q": nope}', 2, "valid JSON", id="not JSON"),
    pytest.param("[1]", 1, "not a list", id="a list"),
    pytest.param("null", 1, "not null", id="null"),
    pytest.param('{"Q": {},\n "R": 5}', 2, "object", id="a queue that is a number"),
    pytest.param("{}", None, "at least one queue", id="no queue"),
    pytest.param('{"Q": {"type": "unified"}}', None, "no atlas_site", id="no queue that could be used"),
    pytest.param("", 1, "cut", id="an empty file"),
    pytest.param('{"a": ' + "9" * 5000 + "}", None, "can be held", id="a number without end"),
])
def test_malformed_dumps(tmp_path, text, line, word):
    path = file_of(tmp_path, text)
    problem, = problems_of(lambda: read_cric(path))
    assert (problem.file, problem.line) == (str(path), line)
    assert word in problem.expected


@pytest.mark.parametrize(("rses", "closeness"), [
    pytest.param([1], None, id="endpoints in a list"),
    pytest.param({"X": 1}, None, id="an endpoint that is a number"),
    pytest.param({"X": [{"panda_queue": "A"}]}, None, id="a relation without a role"),
    pytest.param({"X": ["A"]}, None, id="a relation that is text"),
    pytest.param(None, {"S": 1}, id="a site matrix that is no list"),
])
def test_malformed_companions(tmp_path, rses, closeness):
    assert problems_of(lambda: read(tmp_path, {"A": pandaqueue()}, rses, closeness))


def test_byte_order_mark_control_characters_repeated_keys_and_gzip(tmp_path):
    first, last = (json.dumps(pandaqueue(cloud=cloud)) for cloud in ("US", "DE"))
    path = tmp_path / "queues.json.gz"
    text = f'\ufeff{{"Q": {first}, "Q": {last}}}'.replace("ACTIVE", "ACTIVE\x1e")
    path.write_bytes(gzip.compress(text.encode()))
    grid, remarks = read_cric(path)
    assert grid["sites"]["S"]["region"] == "DE"
    assert any("occur twice" in remark and "(Q)" in remark for remark in remarks)


odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["", "-1", "8", "T1", "online", "DISABLED", "AUTO", "\ud800", "per_core_attr,gpu"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3))


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(pandaqueue()) + ["nickname", "pledgedcpu", "maxwdir", "maxinputsize",
                                                              "catchall", "params", "uconfig", "fairsharepolicy"]),
                       odd_values, max_size=6))
def test_any_values_give_a_valid_grid_that_can_be_written(tmp_path_factory, fields):
    folder = tmp_path_factory.mktemp("cric")
    grid, remarks = read(folder, {"GOOD": pandaqueue(), "ODD": pandaqueue() | fields})
    write_grid(grid, folder / "grid.yaml", remarks)
    assert Grid.model_validate(yaml.safe_load((folder / "grid.yaml").read_text())["grid"]) == Grid.model_validate(grid)


@settings(deadline=None)
@given(st.floats(0, 1e18) | st.integers(0, 10**18), st.sampled_from(sorted(WITH_UNIT)))
def test_no_unit_loses_anything(value, key):
    parse, _ = WITH_UNIT[key]
    assert parse(with_units({key: value})[key]) == float(value)


@pytest.mark.parametrize(("key", "value", "expected"), [
    pytest.param("maxrss", 16000.0, "16 GB", id="memory"),
    pytest.param("maxtime", 345600, "96 h", id="time"),
    pytest.param("total", 2.4e15, "2.4 PB", id="size"),
    pytest.param("bandwidth", 13.54e6, "108.32 Mb/s", id="rate"),
    pytest.param("latency", 0.037, "37 ms", id="latency"),
    pytest.param("maxrss", 0, 0, id="nothing has no unit"),
    pytest.param("cores", 48.0, 48, id="a count"),
    pytest.param("corepower", 12.5, 12.5, id="a number with a fraction"),
    pytest.param("params", {"total": 5000000}, {"total": 5000000}, id="options stay as they are"),
])
def test_numbers_as_people_write_them(key, value, expected):
    assert with_units({key: value}) == {key: expected}


def test_the_file_tells_its_origin(tmp_path):
    grid, remarks = read(tmp_path, {"Q": pandaqueue()})
    write_grid(grid, tmp_path / "new" / "grid.yaml", [*remarks, "a remark\nof two lines \x07"])
    text = (tmp_path / "new" / "grid.yaml").read_text()
    assert text.startswith("# A grid written by simgrid_broker")
    assert "# - CRIC dump queues.json: 1 objects give 1 queues" in text
    assert "# - a remark of two lines\n" in text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["grid.yaml"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "grid.yaml").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_grid({"sites": {}}, tmp_path / "grid.yaml", [])
    assert [path.name for path in tmp_path.iterdir()] == ["grid.yaml"]


def test_a_scenario_extends_the_file(tmp_path):
    grid, remarks = read(tmp_path, {"A": pandaqueue(), "B": pandaqueue(atlas_site="T", workflow=None)}, closeness=[
        {"src": "S", "dst": "T", "closeness": 4}])
    write_grid(grid, tmp_path / "grid.yaml", remarks)
    (tmp_path / "day.yaml").write_text(
        "extends: grid.yaml\nname: day\nduration: 1 day\nshares: [{name: All, value: 1}]\n")
    loaded, expected = load_scenario(tmp_path / "day.yaml").grid, Grid.model_validate(grid)
    assert (loaded.sites, loaded.queues, loaded.storages, loaded.links) == (
        expected.sites, expected.queues, expected.storages, expected.links)


@needs_data
def test_the_real_dump(tmp_path):
    grid, remarks = read_cric(DATA / "pandaqueues_subset.json", DATA / "rse_relations_derived.json")
    checked = Grid.model_validate(grid)
    assert (len(checked.queues), len(checked.sites)) == (155, 76)
    assert {"ALL", "CERN-TEST_WORKFLOW"}.isdisjoint(checked.queues)
    assert checked.sites["AGLT2"].storage == "AGLT2_DATADISK"
    assert checked.sites["BNL-ATLAS"].nucleus
    assert checked.sites["ARNES"].storage == "NDGF-T1_DATADISK"
    assert checked.storages["NDGF-T1_DATADISK"].site == "NDGF-T1"
    assert {storage.site for storage in checked.storages.values()} <= set(checked.sites)
    assert checked.queues["AGLT2"].maxrss == 48000
    assert [one.storage for one in checked.queues["AGLT2"].endpoints if one.default_write] == [
        "AGLT2_DATADISK", "AGLT2_SCRATCHDISK"]
    assert checked.queues["CA-WATERLOO-T2"].endpoints == ()
    assert checked.storages["BNL-OSG2_DATATAPE"].tape
    assert sum(storage.type == "DATADISK" for storage in checked.storages.values()) == 52
    assert 2e5 < sum(site.cores for site in checked.sites.values()) < 8e5
    assert any("malformed fairsharepolicy" in remark and ": 2 (" in remark for remark in remarks)
    assert any("without any computing element" in remark and ": 18," in remark for remark in remarks)
    write_grid(grid, tmp_path / "grid.yaml", remarks)
    assert Grid.model_validate(yaml.safe_load((tmp_path / "grid.yaml").read_text())["grid"]) == checked


@needs_data
def test_the_relations_beside_the_real_dump_say_the_same_as_the_dump():
    with_file, _ = read_cric(DATA / "pandaqueues_subset.json", DATA / "rse_relations_derived.json")
    assert read_cric(DATA / "pandaqueues_subset.json")[0] == with_file

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scenario import PLAIN, line_of, plain_values
from pydantic import BaseModel

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario, load_scenario, remarks
from simgrid_broker.scenario.grid.expand_grid import merged_grid
from simgrid_broker.scenario.loading.documents import FILES, Source, merged, read, read_value, read_yaml
from simgrid_broker.scenario.loading.validate import bare, inside, is_part

DUMP = Path(__file__).parents[2].parent / "shared" / "data" / "cric" / "pandaqueues_subset.json"

SYNTHETIC = """\
name: made up
duration: 7 days
grid:
  synthetic: {sites: 12, cores: 10_000}
  sites:
    T0-CH-01: {cores: 77}
  links:
    pairs:
      - {source: T0-CH-01, destination: T1-DE-01, bandwidth: 1 Gb/s}
shares:
  - {name: All, value: 1}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes files into an empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)

    def write_files(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)
    return write_files


def told(path, **options):
    """The problems of a scenario file, as text."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, **options)
    return [str(problem) for problem in caught.value.problems]


def parts(kind=Scenario, key=()):
    """Every field of every part of a scenario, with its key; elements of lists and mappings are written `*`."""
    for name, field in kind.model_fields.items():
        yield (*key, name), bare(field.annotation)
        inner = bare(field.annotation)
        if not is_part(inner):
            inner = bare(inside(inner, "*"))
        if is_part(inner) and len(key) < 8 and inner is not kind:
            yield from parts(inner, (*key, name))


def test_a_file_becomes_a_scenario(write):
    write(plain=PLAIN)
    scenario = load_scenario("plain.yaml")
    assert (scenario.name, scenario.duration, scenario.seed) == ("plain", 172800, 1)
    assert scenario.grid.queues["CERN"].maxrss == 16000
    assert scenario.grid.storages["CERN-PROD_DATADISK"].read_wan == "ON"
    assert scenario.grid.links.pairs[0].bandwidth == 12.5e9


def test_every_value_knows_its_origin(write):
    write(plain=PLAIN)
    scenario = load_scenario(Path("plain.yaml"), seed=7, until="1 day", overrides=["agents.sampler=2 min"])
    assert str(scenario.origin("grid.queues.CERN.maxrss")) == f"plain.yaml:{line_of(PLAIN, 'CERN: {atlas')}"
    assert str(scenario.origin("shares[0].children[1].value")) == f"plain.yaml:{line_of(PLAIN, 'Other')}"
    assert str(scenario.origin("warm_up")) == str(scenario.origin("grid.queues.CERN.minrss")) == "default"
    assert [str(scenario.origin(key)) for key in ("seed", "duration", "agents.sampler")] == ["command line"] * 3
    assert (scenario.seed, scenario.duration, scenario.agents.sampler) == (7, 86400, 120)
    assert str(scenario.with_values({"seed": 8}).origin("seed")) == "python"
    assert set(scenario.origins) >= {"name", "grid", "seed", "gdpconfig.DISK_THRESHOLD_MC simul"}


WRONG = """\
name: wrong
duration: 10 parsecs
duraton: 3 days
grid:
  sites:
    CERN-PROD: {teir: 0, cores: 1000, nucleus: true}
    BNL: {cores: 12.5}
  queues:
    CERN: {atlas_site: CERN-PRD, status: onlin}
    BNL_PROD: {maxrss: 16 Gb}
  storages:
    CERN-PROD_DATADISK: {site: CERN-PROD, total: 10 PB, free: 11 PB}
shares:
  - {name: Analysis, value: 20, prodsourcelabel: "(user"}
  - {name: Analysis}
gdpconfig:
  NQUEUED_SATCAP: 200
incidents:
  - {at: 12h, what: site_outage, until: 1h}
  - {at: 12h, what: site_outage, site: CERN-PORD}
seed: 1
seed: 2
"""


def test_all_problems_appear_at_once_with_their_lines(write):
    write(wrong=WRONG)
    assert told("wrong.yaml", overrides=["agents.sampler", "grid.sites.BNK.tier=1"]) == [
        "command line: agents.sampler: write dotted.key=value",
        "command line: grid.sites.BNK.tier = 1: unknown name 'BNK'; did you mean 'BNL'?",
        "wrong.yaml:2: duration = '10 parsecs': is not a time; write a number of seconds or text such as '72h'",
        "wrong.yaml:3: duraton = '3 days': unknown key; did you mean 'duration'?",
        "wrong.yaml:6: grid.sites.CERN-PROD.teir = 0: unknown key; did you mean 'tier'?",
        "wrong.yaml:7: grid.sites.BNL.cores = 12.5: expected a valid integer, got a number with a fractional part",
        "wrong.yaml:9: grid.queues.CERN.status = 'onlin': expected 'online', 'brokeroff', 'test', 'offline', "
        "'standby', 'paused' or 'maintenance'; did you mean 'online' or 'offline'?",
        "wrong.yaml:9: grid.queues.CERN.atlas_site = 'CERN-PRD': unknown site; did you mean 'CERN-PROD'?",
        "wrong.yaml:10: grid.queues.BNL_PROD.atlas_site: is missing (site that owns the queue)",
        "wrong.yaml:10: grid.queues.BNL_PROD.maxrss = '16 Gb': is not a size; write a number of MB or text such as "
        "'16 GB'",
        "wrong.yaml:12: grid.storages.CERN-PROD_DATADISK.free = '11 PB': must not exceed total, 1e+16 bytes",
        "wrong.yaml:14: shares[0].prodsourcelabel = '(user': is not a regular expression: missing ), unterminated "
        "subpattern at position 0",
        "wrong.yaml:15: shares[1].value: is missing (weight among the siblings)",
        "wrong.yaml:17: gdpconfig.NQUEUED_SATCAP = 200: unknown key; did you mean "
        "'NQUEUED_SAT_CAP' or 'NQUEUED_NUC_CAP'?",
        "wrong.yaml:19: incidents[0]: site_outage needs `site`",
        "wrong.yaml:19: incidents[0].until = '1h': must be after `at`, 43200 s",
        "wrong.yaml:20: incidents[1].site = 'CERN-PORD': unknown site; did you mean 'CERN-PROD'?",
        "wrong.yaml:22: seed: written a second time; the first is on line 21",
    ]


@pytest.mark.parametrize(("text", "problem"), [
    pytest.param("name: [1\na: 2", "f.yaml:2: this is not YAML: did not find expected ',' or ']'", id="not YAML"),
    pytest.param("\tname: x", "f.yaml:1: this is not YAML: found character that cannot start any token", id="a tab"),
    pytest.param("", "f.yaml: expected a mapping (lines of `key: value`) at the top", id="empty"),
    pytest.param("- 1", "f.yaml: expected a mapping (lines of `key: value`) at the top", id="a list"),
    pytest.param("a: 1\n---\nb: 2", "f.yaml:2: this is not YAML: but found another document", id="two documents"),
    pytest.param("name: &a [*a]", "f.yaml:1: name[0]: an alias must not contain itself", id="an endless alias"),
    pytest.param("name: !python x", "f.yaml:1: name: the tag !python is not understood", id="a foreign tag"),
    pytest.param("? [a]\n: 1", "f.yaml:1: a key must be text", id="a list as a key"),
    pytest.param("name: " + "[" * 3000 + "]" * 3000, "f.yaml:1: nested too deeply: at most 100 levels are read",
                 id="nested too deeply"),
    pytest.param("extends: [1]", "f.yaml:1: extends = [1]: expected the name of a file, or a list of names",
                 id="extends a number"),
    pytest.param("extends: []", "f.yaml:1: extends = []: expected the name of a file, or a list of names",
                 id="extends nothing"),
    pytest.param("extends: plaim.yml", "f.yaml:1: extends = 'plaim.yml': cannot be read: No such file or directory; "
                 "did you mean 'plain.yaml'?", id="extends a file that is not there"),
])
def test_files_that_cannot_be_read_at_all(write, text, problem):
    write(f=text, plain=PLAIN)
    assert problem in told("f.yaml")


def test_a_file_that_is_not_there_names_its_neighbours(write, tmp_path):
    write(plain=PLAIN)
    assert told("plian.yaml") == ["plian.yaml: cannot be read: No such file or directory; did you mean 'plain.yaml'?"]
    assert "Is a directory" in told(tmp_path)[0]
    Path("latin.yaml").write_bytes(b"name: caf\xe9")
    assert told("latin.yaml") == ["latin.yaml: the file is not text in UTF-8"]


@pytest.mark.parametrize(("text", "value"), [
    pytest.param("ON", "ON", id="ON is text, not true"),
    pytest.param("no", "no", id="no is text"),
    pytest.param("True", True, id="true in three spellings"),
    pytest.param("12:30", "12:30", id="no sexagesimal numbers"),
    pytest.param("010", 10, id="no octal numbers"),
    pytest.param("1e9", 1e9, id="a number without a point"),
    pytest.param("-.5", -0.5, id="a number without a leading digit"),
    pytest.param("500_000", 500000, id="an underscore between digits"),
    pytest.param("1_", "1_", id="an underscore at the end"),
    pytest.param("2026-01-01", "2026-01-01", id="no dates"),
    pytest.param("~", None, id="null"),
    pytest.param("", None, id="nothing is null"),
    pytest.param("'300'", "300", id="quotes make text"),
    pytest.param(".inf", float("inf"), id="infinity is read, and refused later"),
    pytest.param("{a: [1, x]}", {"a": [1, "x"]}, id="a mapping and a list"),
])
def test_scalars_follow_yaml_1_2(text, value):
    assert read_value(text) == value


def test_a_child_says_only_what_it_changes(write):
    write(plain=PLAIN, child="""\
extends: plain.yaml
name: child
grid:
  queues:
    CERN: {maxrss: null}
    BNL_PROD: null
    BNL: {atlas_site: BNL}
  links: {pairs: []}
gdpconfig: {taskbrokerage.NQUEUED_NUC_CAP: 300}
incidents: null
""")
    scenario = load_scenario("child.yaml")
    assert list(scenario.grid.queues) == ["CERN", "BNL"]
    assert (scenario.grid.queues["CERN"].maxrss, scenario.grid.queues["CERN"].maxtime) == (0, 96 * 3600)
    assert scenario.grid.links.pairs == () and scenario.grid.links.default.bandwidth == 1.25e9
    assert scenario.incidents == ()
    assert scenario.gdpconfig == {"DISK_THRESHOLD_MC simul": 50, "taskbrokerage.NQUEUED_NUC_CAP": 300}
    assert str(scenario.origin("grid.queues.CERN.maxtime")) == f"plain.yaml:{line_of(PLAIN, 'CERN: {atlas')}"
    assert str(scenario.origin("name")) == "child.yaml:2"
    assert str(scenario.origin("grid.queues.CERN.maxrss")) == "default"


def test_a_file_that_is_extended_may_extend_others(write):
    write(plain=PLAIN, child="extends: plain.yaml\nseed: 7\nwarm_up: 1h\n", part="warm_up: 2h\n",
          grandchild="extends: [child.yaml, part.yaml]\nname: grandchild\n")
    scenario = load_scenario("grandchild.yaml")
    assert (scenario.name, scenario.seed, scenario.warm_up) == ("grandchild", 7, 7200)
    assert [str(scenario.origin(key)) for key in ("seed", "warm_up")] == ["child.yaml:2", "part.yaml:1"]


def test_files_that_extend_one_another_in_a_circle(write):
    write(plain=PLAIN + "extends: child.yaml\n", child="extends: plain.yaml\n")
    assert f"plain.yaml:{line_of(PLAIN + 'extends: child', 'extends: child')}: extends = 'child.yaml': the files " \
           "extend one another in a circle" in told("child.yaml")


def test_several_files_can_be_extended_later_ones_over_earlier_ones(write):
    write(plain=PLAIN, duration="duration: 3 days\nseed: 4\nwarm_up: 1h\n",
          child="extends: [plain.yaml, duration.yaml]\nseed: 5\n")
    scenario = load_scenario("child.yaml")
    assert (scenario.name, scenario.duration, scenario.warm_up, scenario.seed) == ("plain", 3 * 86400, 3600, 5)
    assert [str(scenario.origin(key)) for key in ("duration", "seed")] == ["duration.yaml:1", "child.yaml:2"]


def test_problems_of_parent_and_child_name_their_own_files(write):
    write(plain=PLAIN.replace("tier: 1", "teir: 1"), child="extends: plain.yaml\nseed: x\n")
    assert [problem.split(": ")[0] for problem in told("child.yaml")] == [
        "child.yaml:2", f"plain.yaml:{line_of(PLAIN, 'tier: 1')}"]


def test_files_are_looked_for_beside_the_file_that_names_them(write, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "jobs.swf").write_text("; nothing\n")
    (tmp_path / "deep" / "base.yaml").write_text(PLAIN.replace("workload:", "workload:\n  trace: {file: jobs.swf}"))
    write(child="extends: deep/base.yaml\n")
    assert load_scenario("child.yaml").workload.trace.file == Path("deep/jobs.swf")
    write(child="extends: deep/base.yaml\nworkload: {trace: {file: jobs.swff}}\n")
    assert told("child.yaml") == ["child.yaml:2: workload.trace.file = 'jobs.swff': there is no such file"]


def test_all_keys_that_hold_files_are_known():
    assert {key for key, kind in parts() if kind is Path} == set(FILES)


def test_a_grid_is_made_up_and_what_is_written_lies_over_it(write):
    write(made=SYNTHETIC)
    scenario = load_scenario("made.yaml")
    assert len(scenario.grid.sites) == 12 and sum(site.cores for site in scenario.grid.sites.values()) != 10_000
    assert scenario.grid.sites["T0-CH-01"].cores == 77 and scenario.grid.sites["T0-CH-01"].nucleus
    assert scenario.grid.links.pairs[0].bandwidth == 1.25e8 and scenario.grid.links.by_site
    assert str(scenario.origin("grid.sites.T0-CH-01.cores")) == "made.yaml:6"
    assert str(scenario.origin("grid.sites.T1-DE-01.cores")) == "synthetic grid (made.yaml:4)"


def test_a_link_that_is_written_replaces_the_same_link_of_a_source():
    there, back = {"source": "A", "destination": "B"}, {"source": "B", "destination": "A"}
    source = {"sites": {"A": {"tier": 1}}, "links": {"default": {"latency": 1}, "pairs": [there, back]}}
    written = {"sites": {"A": {"cores": 8}}, "links": {"pairs": [back | {"blocked": True}]}}
    assert merged_grid(source, written) == {
        "sites": {"A": {"tier": 1, "cores": 8}},
        "links": {"default": {"latency": 1}, "pairs": [back | {"blocked": True}, there]}}


def test_an_incident_after_the_end_is_wrong_unless_the_run_was_cut_short(write):
    write(plain=PLAIN, short=PLAIN.replace("2 days", "12h"))
    assert told("short.yaml") == [f"short.yaml:{line_of(PLAIN, 'at: 12h')}: incidents[0].at = '12h': must be before "
                                  "the end of the run, 43200 s"]
    plain = load_scenario("plain.yaml")
    for scenario in (load_scenario("plain.yaml", until="12h"), plain.with_values({"duration": 90})):
        assert remarks(scenario)[0] == "1 incident(s) lie after the end of the run and will not happen."
        assert Scenario.from_dict(scenario.to_dict()) == scenario


def test_a_snapshot_after_the_end_is_wrong_unless_the_run_was_cut_short(write):
    write(plain=f"{PLAIN}\nrecord: {{snapshots: [47h, 48h]}}\n")
    assert [problem.split(": ", 1)[1] for problem in told("plain.yaml")] == [
        "record.snapshots[1] = '48h': must be before the end of the run, 172800 s"]


def test_what_a_grid_is_made_of_can_be_changed_afterwards(write):
    write(made=SYNTHETIC)
    scenario = load_scenario("made.yaml", overrides=["grid.sites.T1-DE-01.cores=9", "grid.synthetic.sites=14"])
    assert len(scenario.grid.sites) == 14 and scenario.grid.sites["T1-DE-01"].cores == 9
    larger = pickle.loads(pickle.dumps(scenario)).with_values({"grid.synthetic.sites": 15})
    assert len(larger.grid.sites) == 15 and larger.grid.sites["T1-DE-01"].cores == 9


def test_a_bad_specification_does_not_hide_other_problems(write):
    write(made=SYNTHETIC.replace("sites: 12", "sites: many").replace("value: 1", "value: 0"))
    assert [problem.split(":")[2] for problem in told("made.yaml")] == [" grid.synthetic.sites = 'many'", " shares"]


def test_a_dump_that_is_missing_or_wrong_is_told(write):
    text = PLAIN.replace("grid:\n", "grid:\n  pandaqueues: queues.json\n")
    write(cric=text)
    assert told("cric.yaml") == [f"cric.yaml:{line_of(text, 'pandaqueues')}: grid.pandaqueues = 'queues.json': "
                                 "there is no such file"]
    Path("queues.json").write_text("{")
    assert any(problem.startswith("queues.json") for problem in told("cric.yaml"))


@pytest.mark.skipif(not DUMP.is_file(), reason=f"{DUMP.name} is not at hand")
def test_a_grid_is_imported_with_remarks(write):
    write(cric=f"name: cric\nduration: 1h\ngrid: {{pandaqueues: '{DUMP}'}}\nshares: [{{name: All, value: 1}}]\n")
    scenario = load_scenario("cric.yaml")
    queue = next(iter(scenario.grid.queues))
    assert str(scenario.origin(f"grid.queues.{queue}.status")) == "CRIC (cric.yaml:3)"
    assert any(DUMP.name in remark for remark in remarks(scenario))


@pytest.mark.parametrize("text", [pytest.param(PLAIN, id="written"), pytest.param(SYNTHETIC, id="made up")])
def test_a_resolved_scenario_can_be_kept_as_json(write, text):
    write(plain=text)
    scenario = load_scenario("plain.yaml", overrides=["gdpconfig.NW_ACTIVE=true"])
    kept = json.loads(json.dumps(scenario.to_dict()))
    Path("plain.yaml").unlink()
    back = Scenario.from_dict(kept)
    assert back == scenario and back.to_dict() == kept
    assert back.with_values({"seed": 5}) == scenario.with_values({"seed": 5})
    assert pickle.loads(pickle.dumps(scenario)).origins == scenario.origins


def test_a_grid_that_is_written_out_cannot_be_made_anew(write):
    write(made=SYNTHETIC)
    kept = Scenario.from_dict(load_scenario("made.yaml").to_dict())
    assert kept.with_values({"grid.sites.T1-DE-01.cores": 9}).grid.sites["T1-DE-01"].cores == 9
    with pytest.raises(ScenarioError, match="already written out"):
        kept.with_values({"grid.synthetic.sites": 5})


def test_a_changed_scenario_is_a_new_one_and_is_checked():
    scenario = Scenario.from_dict(plain_values())
    changed = scenario.with_config({"NQUEUED_NUC_CAP": np.int64(300)}).with_values({
        "shares.Analysis.value": np.float32(5), "grid.queues.BNL_PROD.releases": ("21.0",), "warm_up": "1h"})
    assert scenario != changed and scenario == Scenario.from_dict(plain_values())
    assert scenario.gdpconfig["NQUEUED_NUC_CAP"] == 200 and changed.gdpconfig["NQUEUED_NUC_CAP"] == 300
    assert (changed.shares[1].value, changed.grid.queues["BNL_PROD"].releases, changed.warm_up) == (5, ("21.0",), 3600)
    assert changed.with_values({"warm_up": None}) == changed.with_values({"warm_up": 0})
    json.dumps(changed.to_dict())
    with pytest.raises(ScenarioError) as caught:
        scenario.with_values({"shares.Analysi.value": 3, "seed": -1, "gdpconfig.NW_ACTIV": True})
    assert [(problem.key, problem.nearest[:1]) for problem in caught.value.problems] == [
        ("shares.Analysi.value", ("Analysis",)), ("seed", ()), ("gdpconfig.NW_ACTIV", ("NW_ACTIVE",))]


TREES = st.recursive(st.none() | st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner))


@given(TREES.filter(lambda tree: isinstance(tree, dict)), TREES.filter(lambda tree: isinstance(tree, dict)))
def test_laying_over_wins_or_removes(base, over):
    result = merged(base, over)
    for name in {*base, *over}:
        if name not in over:
            assert result[name] == base[name]
        elif over[name] is None and name in base:
            assert name not in result
        elif not isinstance(over[name], dict) or not isinstance(base.get(name), dict):
            assert result[name] == over[name]
    assert merged(base, {}) == base and merged({}, over) == over


@given(st.text())
def test_any_text_is_yaml_or_a_problem(text):
    document = read_yaml(text, "f.yaml")
    assert document.problems or document.values is None or isinstance(document.values, (str, int, float, list, dict))


def test_a_grid_of_the_size_of_atlas_loads(write):
    write(made=SYNTHETIC.replace("sites: 12, cores: 10_000", "sites: 170, cores: 500_000"))
    grid = load_scenario("made.yaml").grid
    assert len(grid.sites) == 170 and 300_000 < sum(site.cores for site in grid.sites.values()) < 500_000


def test_every_required_key_and_every_part_is_described():
    undescribed = [f"{kind.__name__}.{name}" for kind in {kind for _, kind in parts() if is_part(kind)} | {Scenario}
                   if issubclass(kind, BaseModel) for name, field in kind.model_fields.items()
                   if field.is_required() and not field.description]
    assert undescribed == []


def test_a_text_is_read_in_place_of_its_file(tmp_path):
    """Extended files are found beside the file, and problems have the lines of the text."""
    (tmp_path / "base.yaml").write_text("name: base\n")
    draft, problems = read(Source(tmp_path / "a.yaml", "extends: base.yaml\nseed: 2"))
    assert (draft.values, problems) == ({"name": "base", "seed": 2}, [])
    assert str(draft.marks["seed",]) == f"{tmp_path}/a.yaml:2"

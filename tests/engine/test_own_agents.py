"""Agents of one's own, given to `simulate` or named in the scenario, and the tables that they declare."""

import dataclasses
import gc
import importlib
import weakref

import pyarrow.parquet as pq
import pytest
import simpy
from builders import scenario
from typer.testing import CliRunner

import simgrid_broker as sb
from simgrid_broker.agents import AGENTS
from simgrid_broker.agents.own import records
from simgrid_broker.cli.app import app
from simgrid_broker.errors import InputFileError, PluginError
from simgrid_broker.records import read_run
from simgrid_broker.report.overview import own_tables
from simgrid_broker.schema import Column, Table

SEEN = []


def looker(control):
    """Notes the time and the number of live tasks every hour."""
    while True:
        yield control.env.timeout(3600.0)
        SEEN.append((control.now, len(control.books.live_tasks.rows)))


def not_a_generator(control):
    """Returns at once."""


def offer(folder, monkeypatch, *lines):
    """Install a distribution that offers agents."""
    info = folder / "watchers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: watchers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[simgrid_broker.agents]", *lines, ""]))
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()


def plan(*own):
    """Three quiet hours with agents by name."""
    return scenario(duration=3 * 3600 + 1, warm_up=0, agents=dict(own=own))


def test_an_agent_given_to_simulate_runs_and_is_in_the_manifest(tmp_path):
    SEEN.clear()
    run = sb.simulate(plan(), tmp_path, agents=[looker])
    assert SEEN == [(3600.0, 0), (7200.0, 0), (10800.0, 0)]
    assert run.manifest["agents"][-1] == {
        "name": "looker", "module": __name__, "source": f"given to simulate, of module {__name__}", "tables": []}


def test_the_tables_of_a_run_that_is_over_take_no_memory(tmp_path):
    tables = {}

    def keeper(control):
        yield control.env.timeout(3600)
        tables.update({name: weakref.ref(getattr(control.arrays, name)) for name in ("jobs", "transfers")})
    gc.disable()                                             # it frees them, but seldom in a process of many runs
    try:
        sb.simulate(plan(), tmp_path, agents=[keeper])
        assert [name for name, table in tables.items() if table() is not None] == []
    finally:
        gc.enable()


def test_an_agent_of_another_package_is_found_by_the_name_of_its_entry_point(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, f"looker = {__name__}:looker")
    SEEN.clear()
    run = sb.simulate(plan("looker"), tmp_path / "results")
    assert len(SEEN) == 3
    assert run.manifest["agents"][-1] == {
        "name": "looker", "module": __name__,
        "source": f"entry point of simgrid_broker.agents = {__name__}:looker in watchers 1.0",
        "tables": []}


def test_the_manifest_names_all_agents_in_their_order(tmp_path):
    names = [agent["name"] for agent in sb.simulate(plan(), tmp_path).manifest["agents"]]
    assert names == [*(agent.__name__ for agent in AGENTS), "pilot_streaming"]


@pytest.mark.parametrize(("lines", "wanted", "message"), [
    pytest.param([f"looker = {__name__}:looker"], "loker", "no package offers 'loker'.*did you mean 'looker'",
                 id="missing"),
    pytest.param(["looker = no_such_module:looker"], "looker",
                 "in watchers 1.0\\) cannot be imported: ModuleNotFoundError", id="no such module"),
    pytest.param([f"looker = {__name__}:lucker"], "looker", "cannot be imported: AttributeError", id="no such name"),
    pytest.param([f"looker = {__name__}:not_a_generator"], "looker", "must be a generator function of one argument",
                 id="no generator"),
])
def test_an_agent_that_cannot_be_used_is_named(tmp_path, monkeypatch, lines, wanted, message):
    offer(tmp_path, monkeypatch, *lines)
    with pytest.raises(PluginError, match=message):
        sb.simulate(plan(wanted), tmp_path / "results")
    assert not (tmp_path / "results" / "test").exists() or not any((tmp_path / "results" / "test").iterdir())


@pytest.mark.parametrize("agent", [not_a_generator, lambda control: None, "looker"])
def test_what_is_no_generator_function_is_refused(tmp_path, agent):
    with pytest.raises(PluginError, match="must be a generator function"):
        sb.simulate(plan(), tmp_path, agents=[agent])


def raises(control):
    """Divides by zero after an hour."""
    yield control.env.timeout(3600.0)
    yield control.env.timeout(1 / 0)


def yields_a_number(control):
    """Takes a number for a wait."""
    yield 60


def another_clock(control):
    """Waits on an environment of its own."""
    yield simpy.Environment().timeout(60)


def two_arguments(control, extra):
    """Wants more than there is."""
    yield control.env.timeout(60)


def survives_a_failed_event(control):
    """Sees the exception of an event that failed."""
    failing = control.env.event()
    failing.fail(KeyError("gone"))
    try:
        yield failing
    except KeyError:
        SEEN.append("caught")
    SEEN.append((yield control.env.timeout(60, value="waited")))


@pytest.mark.parametrize(("agent", "words"), [
    pytest.param(raises, rf"raised ZeroDivisionError: division by zero, at {__file__}:\d+", id="raises"),
    pytest.param(yields_a_number, "must yield events of control.env, such as a timeout, not 60", id="a number"),
    pytest.param(another_clock, "must yield events of control.env", id="an event of another clock"),
    pytest.param(two_arguments, "must be a generator function of one argument", id="two arguments"),
])
def test_an_agent_that_fails_is_named(tmp_path, agent, words):
    with pytest.raises(PluginError, match=rf"'{agent.__name__}' \(given to simulate, of module {__name__}\) {words}"):
        sb.simulate(plan(), tmp_path, agents=[agent])


def test_exceptions_and_values_of_events_reach_an_agent(tmp_path):
    SEEN.clear()
    sb.simulate(plan(), tmp_path, agents=[survives_a_failed_event])
    assert SEEN == ["caught", "waited"]


WEATHER = Table("weather", "one look out of the window", (
    Column("time_s", "f8", "s", "window", "When"),
    Column("degrees", "f4", "deg C", "thermometer", "Temperature"),
    Column("open", "?", "", "window", "It stood open"),
    Column("sky", "i1", "", "window", "Sky", codes="skies"),
    Column("queue", "i2", "", "CRIC", "PanDA queue above which it is", codes="queues"),
    Column("luck", "i8", "", "dice", "Not recorded", recorded=False),
), words={"skies": ("clear", "grey")})


@records(WEATHER)
def watcher(control):
    """Looks out every hour."""
    for hour in range(4):
        control.recorder.write("weather", {"time_s": [control.now, control.now], "degrees": [hour, float("nan")],
                                           "open": [True, False], "sky": [hour % 2, -1], "queue": [0, 0]})
        yield control.env.timeout(3600.0)


def recording(table, columns=None):
    """An agent with a table that records some columns in the first moment."""
    @records(table)
    def agent(control):
        if columns is not None:
            control.recorder.write(table.name, columns)
        yield control.env.timeout(1.0)
    return agent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a table of an agent given to `simulate`."""
    return sb.simulate(plan(), tmp_path_factory.mktemp("results"), agents=[watcher])


def test_a_table_of_an_agent_is_read_as_those_of_the_package(run):
    assert run.weather.time_s.tolist() == [0, 0, 3600, 3600, 7200, 7200, 10800, 10800]
    assert run.weather.sky.astype(object).fillna("?").tolist() == ["clear", "?", "grey", "?", "clear", "?", "grey", "?"]
    assert run.weather.degrees.isna().tolist() == [False, True] * 4 and run.weather.open.tolist() == [True, False] * 4
    assert set(run.weather.queue) == {run.manifest["vocabularies"]["queues"][0]}
    assert sum(len(batch) for batch in run.batches("weather", ["sky"])) == 8 and "weather" in dir(run)


def test_its_file_has_types_units_and_meanings(run):
    schema = pq.read_schema(run.folder / "weather.parquet")
    assert {field.name: str(field.type) for field in schema} == {
        "time_s": "double", "degrees": "float", "open": "bool",
        **{name: "dictionary<values=string, indices=int32, ordered=0>" for name in ("sky", "queue")}}
    assert schema.field("degrees").metadata == {b"unit": b"deg C", b"description": b"Temperature",
                                                b"source": b"thermometer"}


def test_manifest_and_report_name_it(run):
    assert "weather" in run.manifest["tables"] and run.manifest["agents"][-1]["tables"] == ["weather"]
    assert own_tables(run).to_numpy().tolist() == [
        ["weather", 8.0, "one look out of the window", "time_s (s), degrees (deg C), open, sky, queue"]]


def test_without_its_file_its_rows_are_unknown(run):
    (run.folder / "weather.parquet").rename(run.folder / "away")
    again = read_run(run.folder)
    try:
        with pytest.raises(InputFileError, match="weather.parquet: is missing, although the run wrote it"):
            _ = again.weather
    finally:
        (run.folder / "away").rename(run.folder / "weather.parquet")


def test_describe_explains_the_table_of_an_installed_agent(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, f"watcher = {__name__}:watcher", "broken = no_such_module:agent")
    said = CliRunner().invoke(app, ["describe", "weather"])
    assert said.exit_code == 0 and "one look out of the window" in said.stdout and "deg C" in said.stdout


def of(**changes):
    """The table with other properties."""
    return dataclasses.replace(WEATHER, **changes)


REFUSED = {
    "a name of the package": (of(name="jobs"), "declares a table 'jobs': the name is taken"),
    "an attribute of a run": (of(name="folder"), "'folder': the name is taken"),
    "a method of a run": (of(name="batches"), "'batches': the name is taken"),
    "no name": (of(name="my table"), "'my table': the name is taken, or not a word"),
    "another agent's": (WEATHER, "'weather': the name is taken"),
    "no columns": (of(name="empty", columns=()), "its columns are none"),
    "a column twice": (of(name="twice", columns=WEATHER.columns[:1] * 2), "its columns are time_s, time_s"),
    "an unknown type": (of(name="text", columns=(Column("sky", "U8", "", "", ""),)), "sky is of the type 'U8'"),
    "codes that are numbers": (of(name="codes", columns=(Column("sky", "f8", "", "", "", codes="skies"),)),
                               "sky has codes and is of the type 'f8'"),
    "an unknown vocabulary": (of(name="words", words={}), "sky has codes of 'skies'; the vocabularies are"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_is_refused_by_name_and_leaves_no_folder(tmp_path, case):
    table, message = REFUSED[case]
    with pytest.raises(PluginError, match="'agent' \\(given to simulate.*" + message):
        sb.simulate(plan(), tmp_path, agents=[watcher, recording(table)])
    assert not any(tmp_path.rglob("seed-*"))


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(PluginError, match="'agent'.*declares 'weather', which is no `Table`"):
        sb.simulate(plan(), tmp_path, agents=[recording("weather")])


@pytest.mark.parametrize(("columns", "message"), [
    ({"time_s": [0.0]}, "weather: missing columns .'degrees', 'open', 'queue', 'sky'., unknown columns .."),
    ({name: [0] for name in ("time_s", "degrees", "open", "sky", "queue", "moon")}, "unknown columns .'moon'."),
])
def test_rows_that_do_not_fit_are_refused_by_name(tmp_path, columns, message):
    with pytest.raises(PluginError, match="'agent'.*" + message):
        sb.simulate(plan(), tmp_path, agents=[recording(WEATHER, columns)])


def test_rows_of_a_table_that_nobody_declared_are_refused(tmp_path):
    def agent(control):
        control.recorder.write("mine", {"time_s": [0.0]})
        yield control.env.timeout(1.0)
    with pytest.raises(PluginError, match="'mine' is not an open table; .*declares its own with `records`"):
        sb.simulate(plan(), tmp_path, agents=[agent])

"""Agents of one's own: given to `simulate` or named in the scenario, and named in the manifest."""

import gc
import importlib
import weakref

import pytest
import simpy
from builders import scenario

import simgrid_broker as sb
from simgrid_broker.errors import PluginError

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
    assert run.manifest["agents"] == [
        {"name": "looker", "module": __name__, "source": f"given to simulate, of module {__name__}"}]


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
    assert run.manifest["agents"][0] == {
        "name": "looker", "module": __name__,
        "source": f"entry point of simgrid_broker.agents = {__name__}:looker in watchers 1.0"}


def test_a_run_without_own_agents_says_so(tmp_path):
    assert sb.simulate(plan(), tmp_path).manifest["agents"] == []


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

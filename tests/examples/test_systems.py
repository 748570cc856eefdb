"""Every member of the doors of systems runs, those of the package in `examples/` included; unusable ones are named."""

from dataclasses import fields
from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker import plugins
from simgrid_broker.agents.own import as_plugins, tables_of
from simgrid_broker.systems.dispatch import DISPATCHERS, dispatcher
from simgrid_broker.systems.worker_mode import MODES, WorkerMode, mode_of

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"


def run(out, **values) -> sb.Run:
    """A run of the smallest scenario with other values."""
    return sb.simulate(sb.load_scenario(MINIMAL).with_values({"duration": "6h"} | values), out=out)


def with_workflow(workflow: str) -> dict[str, str]:
    """Values with which all queues have a workflow."""
    return {f"grid.queues.{queue}.workflow": workflow for queue in ("CENTRE", "NORTH", "SOUTH")}


def assert_that_jobs_and_workers_end(name: str, done: sb.Run) -> None:
    """Jobs finish, and workers end that had one; what they did is in the results."""
    workers = done.workers[["started", "empty", "used_core_h"]].sum()
    running = done.workers[done.workers.time_s == done.workers.time_s.max()].running.sum()
    assert (done.jobs.status == "finished").any(), name
    assert workers.started - workers.empty > running and workers.used_core_h > 0, name


def test_every_worker_mode_runs(door, tmp_path):
    assert set(MODES.names()) >= {"pull_ups", "pull", "push", "push_noheartbeat", "backfill"}
    for workflow in MODES.names():
        assert_that_jobs_and_workers_end(workflow, run(tmp_path, **with_workflow(workflow)))


def test_every_dispatcher_runs(door, tmp_path):
    assert set(DISPATCHERS.names()) >= {"panda", "dirac", "first_come"}
    for name in DISPATCHERS.names():
        done = run(tmp_path, dispatch=name)
        assert_that_jobs_and_workers_end(name, done)
        for table in tables_of(as_plugins(dispatcher(name).agents)):
            assert len(done.table(table)), (name, table)


@pytest.mark.parametrize(("value", "message"), [(0, "at least one worker"), (-1, "from 0 on"), (3, None)])
def test_the_option_of_a_mode_is_checked_by_its_member(door, value, message):
    plan = sb.load_scenario(MINIMAL)
    values = with_workflow("backfill") | {"grid.queues.NORTH.params.backfillWorkers": value}
    if message is None:
        assert not any("backfillWorkers" in remark for remark in sb.remarks(plan.with_values(values)))
    else:
        with pytest.raises(sb.ScenarioError, match=f"params.backfillWorkers.*{message}"):
            plan.with_values(values)


def offer(monkeypatch, folder, group: str, **members: str) -> None:
    """Install a package `moon` with entry points; members: name to the expression of what it offers."""
    info = folder / "moon-1.0.dist-info"
    info.mkdir()
    lines = [f"{name} = moon:{name}" for name in members]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join((f"[{group}]", *lines, "")))
    code = "from dataclasses import fields, replace\nfrom simgrid_broker.systems.harvester import PULL\n"
    (folder / "moon.py").write_text(code + "".join(f"{name} = {value}\n" for name, value in members.items()))
    monkeypatch.delitem(plugins.sys.modules, "moon", raising=False)
    monkeypatch.syspath_prepend(folder)


UNUSABLE = {
    "no member": ("half", "42", "'half' .* in moon 1.0. must be a WorkerMode, not 42"),
    "an attribute is missing": (
        "half", "type(PULL)(**{each.name: getattr(PULL, each.name) for each in fields(PULL)[1:]})",
        "'half' .* in moon 1.0. cannot be imported: TypeError: "
        f".*{fields(WorkerMode)[0].name!r}"),
    "a name that is taken": ("push", "PULL", "'push' .* in moon 1.0. has the name of a member of simgrid_broker"),
    "no numbers": ("half", "replace(PULL, name='half', wanted=lambda status: -status.asked - 1)",
                   "'half'.* numbers of workers from 0"),
    "a failure": ("half", "replace(PULL, wanted=lambda status: status.moon)",
                  "'half' .* in moon 1.0. raised AttributeError"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_worker_mode_is_named(case, tmp_path, monkeypatch):
    name, member, message = UNUSABLE[case]
    offer(monkeypatch, tmp_path, "simgrid_broker.worker_modes", **{name: member})
    with pytest.raises(sb.PluginError, match=message):
        run(tmp_path, **with_workflow(name))


def test_an_unusable_dispatcher_is_named(tmp_path, monkeypatch):
    offer(monkeypatch, tmp_path, "simgrid_broker.dispatchers", half="PULL")
    with pytest.raises(sb.PluginError, match="'half' .* in moon 1.0. must be a Dispatch, not WorkerMode"):
        run(tmp_path, dispatch="half")


def test_a_queue_without_a_workflow_is_a_pull_queue():
    assert mode_of(None) is mode_of("") is mode_of("pull")

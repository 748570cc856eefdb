"""A whole run: what it leaves, that it can be repeated to the byte, and how it ends when it is cut short."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builders import EVENTFUL

from simgrid_broker import engine
from simgrid_broker.engine import simulate
from simgrid_broker.errors import InvariantBroken, OutputError, PluginError
from simgrid_broker.records import JOB_END_TIMES, read_run
from simgrid_broker.scenario import load_scenario
from simgrid_broker.schema import RECORDED

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def minimal():
    """The smallest scenario that does everything once."""
    return load_scenario(SCENARIOS / "minimal.yaml").with_values({"record.candidates": 1, "warm_up": 0})


@pytest.fixture(scope="module")
def run(minimal, tmp_path_factory):
    """A complete run of it."""
    return simulate(minimal, folder=tmp_path_factory.mktemp("minimal") / "run", validate=True)


USED = [name for name in RECORDED if name not in ("ended", "splitting", "task_datasets", "trace", "staging",
                                                  "task_classes", "task_actions")]
"""Tables that have rows in any run; the others only where jobs are a sample, cut from files, recorded or staged, or
tasks of User Analysis have classes, or jobs run out of memory or time."""


def digests(folder) -> dict[str, str]:
    """Fingerprint of each table of a run."""
    return {name: hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for name in USED}


def test_a_run_leaves_every_table_and_a_manifest(run):
    assert run.manifest["status"] == "complete"
    assert run.manifest["simulated_s"] == run.manifest["duration_s"] == 12 * 3600
    for name in USED:
        assert len(run.table(name)) > 0, name


def test_the_counters_are_those_of_the_tables(run):
    counters = run.manifest["counters"]
    assert counters["jobs"] == len(run.jobs) and counters["tasks"] == len(run.tasks)
    assert counters["transfers"] == len(run.transfers) and counters["decisions"] == len(run.decisions)
    ended = run.jobs["status"].isin(["finished", "failed", "closed", "cancelled"])
    assert counters["jobs_ended"] == ended.sum()


def test_every_attempt_is_recorded_once(run):
    assert run.jobs["panda_id"].is_unique
    assert not run.jobs.duplicated(["jeditaskid", "chunk", "attempt"]).any()
    assert run.tasks["jeditaskid"].is_unique


@pytest.mark.rule("submission.make_job")
def test_input_is_taken_when_jobs_are_placed_however_late_the_setupper_comes(minimal, tmp_path):
    changes = {"agents.setupper": 600, "duration": "6h", "workload.campaigns[0].failure_rate": 0.8,
               "workload.campaigns[0].max_attempt": 6}
    run = simulate(minimal.with_values(changes), folder=tmp_path / "run", validate=True)
    jobs = run.jobs.assign(ended_s=run.jobs[list(JOB_END_TIMES)].max(axis=1))
    again = jobs[jobs.old_panda_id > 0]
    waited_s = again.pending_s.to_numpy() - jobs.set_index("panda_id").ended_s[again.old_panda_id].to_numpy()
    assert len(again) > 50 and (waited_s >= 0).all()
    placed = run.decisions[run.decisions.kind != "task_brokerage"].n_jobs.sum()
    by_server = (waited_s == 0).sum()                      # the server tries again at once
    assert placed == len(jobs) - by_server                 # nothing was placed twice


def test_tasks_count_their_jobs(run):
    ended = run.jobs[run.jobs["status"].isin(["finished", "failed", "closed"])]
    finished = ended[ended["status"] == "finished"].groupby("jeditaskid").size()
    tasks = run.tasks.set_index("jeditaskid")
    assert (tasks["n_finished"] == finished.reindex(tasks.index, fill_value=0)).all()
    made = run.jobs.groupby("jeditaskid").size()
    assert (tasks["n_attempts"] == made.reindex(tasks.index, fill_value=0)).all()
    used = (ended["walltime_s"].astype(float) * ended["hs06_milli"] / 1e3).groupby(ended["jeditaskid"]).sum()
    assert np.allclose(tasks["used_hs06s"], used.reindex(tasks.index, fill_value=0), rtol=1e-6)


def test_the_times_of_a_job_are_in_order(run):
    jobs = run.jobs[run.jobs["status"] == "finished"]
    order = ["pending_s", "defined_s", "activated_s", "sent_s", "running_s", "holding_s", "finished_s"]
    assert (np.diff(jobs[order].to_numpy(), axis=1) >= 0).all()
    assert np.allclose(jobs["holding_s"] - jobs["running_s"], jobs["walltime_s"], atol=1e-2)


def test_the_same_seed_gives_the_same_bytes(minimal, run, tmp_path):
    again = simulate(minimal, folder=tmp_path / "run")                 # the first run was validated, this one is not
    assert digests(again.folder) == digests(run.folder)
    same = [{key: manifest[key] for key in ("scenario", "gdpconfig", "counters", "vocabularies", "share_tree")}
            for manifest in (again.manifest, run.manifest)]
    assert same[0] == same[1]


def test_another_seed_gives_another_run(minimal, run, tmp_path):
    other = simulate(minimal.with_values({"seed": 2}), folder=tmp_path / "run")
    one, two = digests(run.folder), digests(other.folder)
    assert not [name for name in USED if one[name] == two[name]]


def test_a_first_look_for_six_hours_breaks_no_invariant(tmp_path):
    plan = load_scenario(SCENARIOS / "quickstart.yaml").with_values({"duration": 6 * 3600, "incidents": [
        dict(at=2 * 3600, until=4 * 3600, what="site_outage", site="T1-DE-01")]})
    found = simulate(plan, folder=tmp_path / "run", validate=True)
    assert found.manifest["counters"]["jobs_ended"] > 500


class Interrupting:
    """Progress that raises an exception at some point of the run."""

    def __init__(self, error, at_step=60):
        self.error, self.steps_left = error, at_step

    def __call__(self, simulation):
        self.steps_left -= 1
        if self.steps_left == 0:
            raise self.error


def test_an_interrupted_run_leaves_what_is_complete(minimal, run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        simulate(minimal, folder=tmp_path / "run", progress=Interrupting(KeyboardInterrupt()))
    found = read_run(tmp_path / "run")
    assert (found.manifest["status"], found.manifest["simulated_s"]) == ("interrupted", 12 * 3600 * 60 / engine.STEPS)
    assert not found.remarks
    both = ["panda_id", "jeditaskid", "chunk", "attempt", "queue", "activated_s"]
    ended = found.jobs[found.jobs["status"] == "finished"][both]
    whole = run.jobs[run.jobs["panda_id"].isin(ended["panda_id"])][both]
    assert len(ended) > 50
    assert (ended.reset_index(drop=True).equals(whole.reset_index(drop=True)))
    assert found.queues["time_s"].max() == found.manifest["simulated_s"]       # the last sample is of that moment


def test_a_run_that_fails_says_so_and_can_be_read(minimal, tmp_path):
    with pytest.raises(RuntimeError, match="out of luck"):
        simulate(minimal, folder=tmp_path / "run", progress=Interrupting(RuntimeError("out of luck")))
    found = read_run(tmp_path / "run")
    assert found.manifest["status"] == "failed"
    assert len(found.queues) > 0


def test_a_run_whose_tables_contradict_themselves_has_failed(minimal, tmp_path):
    def spoil(simulation):
        simulation.world.arrays.counts[0, 0, 0, 0] += 1
    from simgrid_broker.errors import InvariantBroken
    with pytest.raises(InvariantBroken):
        simulate(minimal.with_values({"duration": 3600}), folder=tmp_path / "run", progress=spoil)
    assert read_run(tmp_path / "run").manifest["status"] == "failed"


def test_while_it_runs_a_run_says_that_it_is_running(minimal, tmp_path):
    seen = []
    simulate(minimal.with_values({"duration": 3600}), folder=tmp_path / "run",
             progress=lambda simulation: seen.append(read_run(simulation.folder).manifest["status"]))
    assert seen == ["running"] * engine.STEPS


def test_progress_is_told_with_figures(minimal, tmp_path):
    seen = []
    simulate(minimal, folder=tmp_path / "run", progress=lambda simulation: seen.append(
        (simulation.env.now, simulation.jobs_ended, simulation.running_cores)))
    times, ended, cores = np.array(seen).T
    assert times[-1] == 12 * 3600 and (np.diff(times) > 0).all()
    assert (np.diff(ended) >= 0).all() and ended[-1] > 400 and cores.max() > 100


def test_a_run_is_not_written_over_another(minimal, run):
    with pytest.raises(OutputError):
        simulate(minimal, folder=run.folder)
    assert read_run(run.folder).manifest["status"] == "complete"


def test_runs_of_a_scenario_get_folders_of_their_own(minimal, tmp_path):
    short = minimal.with_values({"duration": 60})
    folders = {simulate(short, out=tmp_path).folder for _ in range(2)}
    assert len(folders) == 2 and {folder.parent for folder in folders} == {tmp_path / "minimal"}


def test_what_is_not_wanted_is_not_recorded(minimal, tmp_path):
    plan = minimal.with_values({"record.jobs": False, "record.transfers": False, "record.decisions": 0,
                                "record.candidates": 0, "record.unplaced": 0, "record.series": False,
                                "duration": 4 * 3600})
    found = simulate(plan, folder=tmp_path / "run")
    assert [name for name in RECORDED if len(found.table(name))] == ["ended", "tasks", "refusals"]
    assert found.manifest["counters"]["jobs"] > 0


RUN = """
import json, sys
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
plan = load_scenario(sys.argv[1]).with_values(json.loads(sys.argv[2]))
print(simulate(plan, folder=sys.argv[3]).manifest["counters"]["jobs"])
"""


@pytest.mark.slow
def test_uncompiled_code_gives_the_same_bytes(tmp_path):
    made, changes = [], EVENTFUL | {"duration": 6 * 3600}
    for name, switched_off in (("compiled", "0"), ("plain", "1")):
        command = [sys.executable, "-c", RUN, str(SCENARIOS / "minimal.yaml"), json.dumps(changes), tmp_path / name]
        done = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": switched_off}, capture_output=True,
                              text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        made.append(int(done.stdout))
    assert made[0] == made[1] > 500
    assert digests(tmp_path / "compiled") == digests(tmp_path / "plain")


def test_a_run_without_work_is_a_run(minimal, tmp_path):
    found = simulate(minimal.with_values({"workload": {}, "duration": 3600}), folder=tmp_path / "run", validate=True)
    assert found.manifest["status"] == "complete"
    assert (len(found.jobs), len(found.tasks)) == (0, 0) and len(found.queues) > 0


def test_what_is_wrong_before_the_start_leaves_no_folder(minimal, tmp_path):
    with pytest.raises(PluginError):
        simulate(minimal.with_values({"policies.throttle": "by moonlight"}), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_invariant_that_fails_leaves_what_reproduces_it(minimal, tmp_path, monkeypatch):
    calls = []

    def check(arrays):
        calls.append(1)
        if len(calls) > 8:
            raise InvariantBroken(["storage 1: five bytes too many"])

    monkeypatch.setattr("simgrid_broker.agents.run.samples.invariants.check", check)
    monkeypatch.setattr(sys, "argv", ["simgrid-broker", "run", "a file.yaml", "--validate"])
    with pytest.raises(InvariantBroken) as caught:
        simulate(minimal, folder=tmp_path / "run", validate=True)
    kept = read_run(tmp_path / "run")
    assert kept.manifest["status"] == "failed" and len(kept.shares) and len(kept.jobs)
    text = (tmp_path / "run" / "failure.yaml").read_text()
    assert str(tmp_path / "run" / "failure.yaml") in "".join(caught.value.__notes__)
    at = f"{kept.manifest['simulated_s']:g} s"
    assert all(words in text for words in ("five bytes too many", "seed 1", "run 'a file.yaml' --validate", at))
    assert load_scenario(tmp_path / "run" / "failure.yaml").to_dict() == minimal.to_dict()

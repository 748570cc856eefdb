"""The package in `examples/` is installed and every policy and agent of it runs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simgrid_broker import broker
from simgrid_broker.policy.registry import policy
from simgrid_broker.records import read_run
from simgrid_broker.views import PilotStatus

EXAMPLES = Path(__file__).parents[2] / "examples"


def command(installed, *arguments) -> subprocess.CompletedProcess:
    """The command line with the package of examples installed."""
    paths = os.pathsep.join([str(installed), str(EXAMPLES.parent)])
    return subprocess.run([sys.executable, "-m", "simgrid_broker", *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": paths})


@pytest.mark.slow
def test_the_scenario_runs_with_every_policy_and_names_them(installed, tmp_path):
    done = command(installed, "run", str(EXAMPLES / "own_policies.yaml"), "--out", str(tmp_path), "--quiet")
    assert done.returncode == 0, done.stderr
    manifest = next(tmp_path.rglob("manifest.json")).read_text()
    assert '"complete"' in manifest
    assert "simgrid_broker_examples.agents:aging in simgrid-broker-examples 1.0" in manifest
    power = read_run(next(tmp_path.rglob("manifest.json")).parent).power
    assert power.power_kw.max() > 0 and set(power.tariff) == {"night", "day"}
    assert "one PanDA queue with running jobs at one reading" in command(installed, "describe", "power").stdout


def test_without_the_package_every_missing_name_is_told(tmp_path):
    done = command(tmp_path, "check", str(EXAMPLES / "own_policies.yaml"))
    assert done.returncode == 2
    for name in ("small_first", "one_per_job", "spread_out", "gentle", "aging"):
        assert f"{name!r}" in done.stderr
    assert "Traceback" not in done.stderr


def test_both_forms_of_pilot_submission_give_the_same_workers(door):
    status = PilotStatus(
        corecount=np.array([1, 8]), cores_running=np.zeros(2), cores_queued=np.zeros(2),
        workers_queued=np.array([[2, 0], [9, 0]]), worker_cores=np.array([[1, 8], [1, 0]]),
        activated=np.array([[[3, 4], [1, 0]], [[5, 6], [0, 0]]]), share_order=np.array([0, 1]))
    for name in ("one_per_job", "one_per_job_compiled"):
        assert policy("pilot_submission", name)(status).tolist() == [[2, 4], [0, 0]]


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_an_own_rule_and_factor_take_their_turn_compiled_or_plain(door, edition):
    def asked(name):
        return broker(EXAMPLES.parent / "scenarios/snapshot.yaml", task=102, edition=edition,
                      **{"policies.job_brokerage": name})
    theirs, compiled, plain = asked("production"), asked("spread_out"), asked("spread_out_plain")
    assert compiled.candidates == plain.candidates and compiled.funnel == plain.funnel
    before = {each.name: each for each in theirs.candidates}
    for each in compiled.candidates:
        if each.kept:
            assert each.weight == pytest.approx(before[each.name].weight * each.factors["small_slots"])
        elif each.tag != "-crowded":
            assert each.tag == before[each.name].tag
    assert any("small_slots" in each.factors for each in compiled.candidates)

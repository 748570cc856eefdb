"""The package in `examples/` is installed and every policy and agent of it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGE = "simgrid_broker_examples"
BUILD = "import setuptools; setuptools.setup()"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder in which the package of examples is installed, without a network."""
    source, target = tmp_path_factory.mktemp("source") / PACKAGE, tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLES / PACKAGE, source)
    subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD, "-q", "egg_info", "--egg-base", str(target),
                    "build_py", "--build-lib", str(target)], cwd=source, check=True, capture_output=True)
    return target


@pytest.fixture
def door(installed, monkeypatch):
    """The package of examples can be imported, and its entry points are found."""
    monkeypatch.syspath_prepend(installed)


def command(installed, *arguments) -> subprocess.CompletedProcess:
    """The command line with the package of examples installed."""
    paths = os.pathsep.join([str(installed), str(EXAMPLES.parent)])
    return subprocess.run([sys.executable, "-m", "simgrid_broker", *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": paths})


def test_the_scenario_runs_with_every_policy_and_names_them(installed, tmp_path):
    done = command(installed, "run", str(EXAMPLES / "own_policies.yaml"), "--out", str(tmp_path), "--quiet")
    assert done.returncode == 0, done.stderr
    manifest = next(tmp_path.rglob("manifest.json")).read_text()
    assert '"complete"' in manifest
    assert "simgrid_broker_examples.agents:aging in simgrid-broker-examples 1.0" in manifest


def test_without_the_package_every_missing_name_is_told(tmp_path):
    done = command(tmp_path, "check", str(EXAMPLES / "own_policies.yaml"))
    assert done.returncode == 2
    for name in ("small_first", "one_per_job", "gentle", "aging"):
        assert f"{name!r}" in done.stderr
    assert "Traceback" not in done.stderr

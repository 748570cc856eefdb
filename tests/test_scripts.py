"""The two commands of the README, without their downloads: an environment that is there already is a recorder."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "dirname", "cat", "cksum", "env")
PLAIN = "-m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder"


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose .venv holds a python that only prints its arguments, with the stamps of both scripts."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nif [ \"$1 $2\" = '-m pip' ]; then echo pip \"$@\" >> pip.log; else echo \"$@\"; fi\n")
    python.chmod(0o755)
    for stamp in ("installed", "installed-test"):
        state = subprocess.check_output(["cksum"], input=(tmp_path / "pyproject.toml").read_bytes()).decode().strip()
        (tmp_path / ".venv" / stamp).write_text(f"{state} {tmp_path}\n")
    return tmp_path


def run(checkout, script, *arguments, cwd=None, **environment):
    """A script of the checkout."""
    return subprocess.run([checkout / script, *arguments], capture_output=True, text=True, cwd=cwd or checkout,
                          env={**os.environ, **environment})


@pytest.mark.parametrize(("arguments", "passed"), [
    pytest.param([], "{root}/scenarios/atlas_day.yaml", id="the ATLAS day by default"),
    pytest.param(["--seed", "3"], "{root}/scenarios/atlas_day.yaml --seed 3", id="options alone are for the ATLAS day"),
    pytest.param(["a b.yaml", "--quiet"], "a b.yaml --quiet", id="another scenario"),
])
def test_run(checkout, arguments, passed):
    said = run(checkout, "scripts/run.sh", *arguments)
    assert said.returncode == 0, said.stderr
    assert said.stdout == f"-m simgrid_broker run {passed.format(root=checkout)}\n"
    assert said.stderr.startswith("Simulating ") and len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("script", ["scripts/test.sh", ".ci/run"])
def test_test(checkout, script, tmp_path_factory):
    said = run(checkout, script, "tests/policy", "-k", "throttle", cwd=tmp_path_factory.mktemp("elsewhere"))
    assert said.stdout == f"{PLAIN} tests/policy -k throttle\n"
    assert "Running the tests" in said.stderr


def test_a_change_is_taken_after_the_plain_tests_and_the_slow_ones(checkout, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "chromium").symlink_to(shutil.which("true"))               # so that none is installed
    said = run(checkout, ".ci/run", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert said.stdout == f"{PLAIN}\n{PLAIN} -m slow --dist load --maxschedchunk 1\n"


def test_a_change_of_pyproject_installs_again_and_once(checkout):
    with (checkout / "pyproject.toml").open("a") as file:
        file.write("\n")
    for _ in range(2):
        assert run(checkout, "scripts/test.sh").returncode == 0
    installs = [line for line in (checkout / "pip.log").read_text().splitlines() if "install" in line]
    assert len(installs) == 1 and installs[0].endswith("-e .[test]")
    assert run(checkout, "scripts/run.sh").returncode == 0                    # what the tests need is enough for a run
    assert len((checkout / "pip.log").read_text().splitlines()) == 2          # one look for pip, one installation


def test_a_machine_without_python_is_told_what_to_do(checkout, tmp_path):
    shutil.rmtree(checkout / ".venv")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(shutil.which(tool))
    said = run(checkout, "scripts/run.sh", PATH=str(tools))
    assert said.returncode == 1 and "needs Python 3.11 or newer" in said.stderr and said.stdout == ""

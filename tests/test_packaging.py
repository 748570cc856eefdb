"""The wheel holds what its users need: scenarios, types, licence; libraries of studies are an extra."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path

import digest_tables
import make_kept_code
import pytest
import try_versions
from digest_tables import digests
from packaging.requirements import Requirement
from typer.testing import CliRunner

import simgrid_broker
from simgrid_broker.cli.app import app
from simgrid_broker.cli.loading import loaded
from simgrid_broker.errors import MissingExtra, ScenarioError, extras_named
from simgrid_broker.report import script
from simgrid_broker.scenario.loading import documents as shipped

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_holds_every_scenario_and_runs_one_by_its_name(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        packed.extractall(tmp_path / "installed")
    files = {f"simgrid_broker/scenarios/{path.name}" for path in (ROOT / "scenarios").iterdir()}
    assert files | {"simgrid_broker/py.typed", "simgrid_broker/report/web/page.js"} <= names
    assert all(any(name.endswith(f"licenses/{text}") for name in names) for text in ("LICENSE", "THIRD_PARTY.md"))
    assert not any(name.startswith(("tests", "scripts", "scenarios")) for name in names)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "simgrid_broker", "check", "full_chain"], cwd=tmp_path, capture_output=True,
        text=True, env={"PYTHONPATH": str(tmp_path / "installed"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert ran.returncode == 0 and "full_chain" in ran.stdout, ran.stderr


USES = (
    (("run", "minimal", "--until", "1h", "--set", "warm_up=0h", "--no-report", "--out", "runs"), "runs/minimal/seed-1"),
    (("report", "runs/minimal/seed-1"), "report.html"),
    (("broker", "snapshot", "--task", "101"), "101"),
    (("export", "records", "runs/minimal/seed-1", "-o", "jobs.csv"), "jobs.csv"),
    (("calibrate", "minimal", "jobs.csv", "--out", "fit"), "fit/calibrated.yaml"),
    (("replicate", "minimal", "--until", "1h", "--set", "warm_up=0h", "--seeds", "2", "--out", "studies"), "studies"),
)
"""Arguments of the command of the wheel, and a part of its answer."""


@pytest.mark.slow
def test_the_installed_wheel_runs_reports_brokers_and_studies(installed, tmp_path):
    for words, answer in USES:
        told = subprocess.run([installed / "simgrid-broker", *words], cwd=tmp_path, capture_output=True, text=True)
        assert told.returncode == 0 and answer in told.stdout, (words, told.stdout, told.stderr)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="code in wheels is for x86-64-v3")
def test_a_wheel_with_compiled_code_begins_without_compiling_and_gives_the_same_rows(wheel_of, tmp_path):
    copy, installed = tmp_path / "checkout", tmp_path / "installed"
    for name in ("simgrid_broker", "scenarios", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "THIRD_PARTY.md"):
        shutil.copy(ROOT / name, copy)
    subprocess.run([sys.executable, "scripts/make_kept_code.py", "minimal"], cwd=copy, capture_output=True, check=True,
                   env=os.environ | {"PYTHONPATH": str(copy)})
    made = wheel_of(copy, tmp_path)
    assert not made.name.endswith("-any.whl"), "it is a wheel of this platform"
    with zipfile.ZipFile(made) as packed:
        packed.extractall(installed)

    def rows(place, out, **environment):
        words = "-P", "-m", "simgrid_broker", "run", ROOT / "scenarios" / "minimal.yaml", "--no-report", "--quiet"
        ran = subprocess.run([sys.executable, *words, "--out", tmp_path / out], capture_output=True, text=True,
                             cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(place)} | environment)
        assert ran.returncode == 0 and "note:" not in ran.stderr, ran.stderr
        return digests(tmp_path / out)

    cache = tmp_path / "cache"
    assert rows(installed, "first", SIMGRID_BROKER_CACHE=str(cache)) == rows(ROOT, "as here")
    assert cache.is_dir() and not [*cache.glob("*.code")], "nothing was compiled"


def test_runs_of_scripts_name_scenarios_and_settings_that_hold():
    """Scripts that take minutes are run seldom: a warm-up as long as a run would hurt their users alone."""
    runs = [*digest_tables.CASES.values(), *try_versions.CASES.values(),
            *(words[1:] for words in make_kept_code.COMMANDS.values() if words[0] == "run")]
    for path, *options in runs:
        given = [options[place + 1] for place, word in enumerate(options) if word == "--until"]
        settings = [options[place + 1] for place, word in enumerate(options) if word == "--set"]
        if not path.startswith("examples/"):                 # made by the manual, which its own test runs
            assert loaded(ROOT / path, until=given[0] if given else None, settings=settings)


def test_scenarios_are_listed_and_copied_with_what_they_read(tmp_path):
    listed = CliRunner().invoke(app, ["scenarios"])
    assert listed.exit_code == 0 and "quickstart" in listed.stdout and "Ten sites for a day" in listed.stdout
    copied = CliRunner().invoke(app, ["scenarios", "--copy", str(tmp_path / "mine")])
    assert copied.exit_code == 0 and (tmp_path / "mine" / "gpu_software.json").is_file()
    again = CliRunner().invoke(app, ["scenarios", "--copy", str(tmp_path / "mine")])
    assert again.exit_code == 2 and "the folder exists" in again.stderr


def test_the_name_of_a_scenario_is_enough_unless_a_file_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert simgrid_broker.load_scenario("minimal").name == "minimal"
    shutil.copy(ROOT / "scenarios" / "full_chain.yaml", tmp_path / "minimal")
    assert simgrid_broker.load_scenario("minimal").name == "full_chain"
    assert shipped.located("minimal.yaml", tmp_path / "other") == shipped.FOLDER / "minimal.yaml"
    (tmp_path / "longer.yaml").write_text("extends: full_chain\nduration: 3d\n")
    assert simgrid_broker.load_scenario("longer.yaml").duration == 3 * 86400
    assert shipped.located("other/minimal.yaml") == Path("other/minimal.yaml")
    with pytest.raises(ScenarioError, match="quickstrat: cannot be read.*did you mean 'quickstart'"):
        simgrid_broker.load_scenario("quickstrat")


def test_a_library_of_an_extra_is_named_with_the_extra():
    with pytest.raises(MissingExtra, match=r"optuna is not installed; .* pip install 'simgrid_broker\[studies\]'"):
        with extras_named():
            raise ModuleNotFoundError("No module named 'optuna.trial'", name="optuna.trial")
    with pytest.raises(MissingExtra, match=r"python_multipart is not installed; .*simgrid_broker\[desk\]"):
        with extras_named():
            raise ModuleNotFoundError("No module named 'python_multipart'", name="python_multipart")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extras_named():
        raise ModuleNotFoundError("No module named 'no_such_module'", name="no_such_module")


def test_an_embedded_library_carries_its_licence_and_is_listed():
    library = script.LIBRARY
    version, = re.findall(r"github.com/leeoniya/uPlot \(v([\d.]+)\)", library)
    assert library.startswith("/*! The MIT License") and "Leon Sorokin" in library and "</script" not in library
    assert f"| {version}," in (ROOT / "THIRD_PARTY.md").read_text()


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"] and "version" not in project
    citation = (ROOT / "CITATION.cff").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {simgrid_broker.__version__}\n" in citation and f"## {simgrid_broker.__version__}" in changes


def with_pip(home, what):
    """Install into an environment by pip's own settings; skips where no index of packages can be reached."""
    done = subprocess.run([sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet",
                           "--disable-pip-version-check", what], capture_output=True, text=True)
    if done.returncode and ("No matching distribution" in done.stderr or "Could not find a version" in done.stderr):
        pytest.skip("no index of packages can be reached, from which an empty environment is filled")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_empty_environment_runs_all_but_what_extras_have_and_names_these(wheel, tmp_path):
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)

    def said(*words):
        return subprocess.run([home / "bin" / "simgrid-broker", *words], cwd=tmp_path, capture_output=True, text=True)
    with_pip(home, wheel)
    for words, answer in USES:
        done = said(*words)
        assert done.returncode == 0 and answer in done.stdout, (words, done.stdout, done.stderr)
    on_a_cluster = "replicate", "minimal", "--scheduler", "tcp://127.0.0.1:1"
    for words, extra in ((on_a_cluster, "studies"), (("serve",), "desk")):
        done = said(*words)
        assert done.returncode and f"pip install 'simgrid_broker[{extra}]'" in done.stderr, (words, done.stderr)


def test_every_library_has_a_lower_bound_and_those_of_extras_are_named_with_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert {"studies", "calibrate", "desk", "docs", "test", "dev"} <= extras.keys()
    assert [need for need in (*project["dependencies"], *extras["studies"], *extras["desk"]) if ">=" not in need] == []
    for need in map(Requirement, requires("simgrid_broker")):
        mark = need.marker
        extra = next((name for name in ("studies", "desk") if mark and mark.evaluate({"extra": name})), "")
        if extra and not need.extras:
            with pytest.raises(MissingExtra, match=rf"simgrid_broker\[{extra}\]"), extras_named():
                raise ModuleNotFoundError(f"No module named {need.name!r}", name=need.name.replace("-", "_"))

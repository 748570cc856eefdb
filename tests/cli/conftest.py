"""The program as a user calls it, inside this process, and one finished run for all tests."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simgrid_broker.cli.app import app

sys.path.append(str(Path(__file__).parents[1] / "records"))     # the fake run

ROOT = Path(__file__).parents[2]
MINIMAL = ROOT / "scenarios" / "minimal.yaml"


def called(*arguments, columns=110):
    """Result of the program for these arguments in a terminal of some columns: exit_code, stdout, stderr."""
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(app, [str(each) for each in arguments], prog_name="simgrid-broker")


@pytest.fixture(scope="session")
def call():
    """The program."""
    return called


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A short run of the smallest scenario: folder of results, and the result of the program."""
    results = tmp_path_factory.mktemp("results")
    return results, called("run", MINIMAL, "--set", "warm_up=0", "--until", "2h", "--out", results)

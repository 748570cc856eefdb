"""Groups of options that the verbs of studies share."""

import inspect

import pytest
from typer.testing import CliRunner

from simgrid_broker.cli import compare, studies
from simgrid_broker.cli.app import app
from simgrid_broker.cli.study_options import HERE, RunOn, grouped_options

SHARED = ("--workers", "--scheduler", "--reports", "--out")


@pytest.mark.parametrize("verb", ["replicate", "compare", "sweep", "sensitivity", "tune"])
def test_every_verb_of_studies_says_where_points_run(verb):
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, [verb, "--help"]).stdout
    assert [option for option in SHARED if option not in shown] == []


def test_a_command_gets_a_group_as_one_value():
    got = []

    @grouped_options
    def command(name: str, run_on: RunOn = HERE, more: int = 3) -> None:
        got.append((name, run_on, more))
    command(name="a", workers=2, scheduler=None, reports=True, more=4)
    assert got == [("a", RunOn(2, None, True), 4)]
    assert list(inspect.signature(command).parameters) == ["name", "workers", "scheduler", "reports", "more"]


@pytest.mark.parametrize("command", [studies.replicate, compare.compare, studies.sweep, studies.sensitivity,
                                     studies.tune])
def test_no_group_is_an_option_itself(command):
    assert not {"run_on", "instead"} & set(inspect.signature(command).parameters)

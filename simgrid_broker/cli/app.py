"""The Typer application with all commands."""

import typer
from typer.core import TyperGroup

from simgrid_broker.cli import (
    broker,
    calibrate,
    check,
    compare,
    coverage,
    describe,
    explain,
    exporting,
    gdpconfig,
    importing,
    links,
    match,
    run,
    scenarios,
    shares,
    studies,
    users,
    why,
)
from simgrid_broker.cli.trouble import errors_as_messages

PROGRAM = "simgrid-broker"

EXAMPLES = """\b
Examples:
  simgrid-broker check scenarios/quickstart.yaml
  simgrid-broker run scenarios/quickstart.yaml --seed 3
  simgrid-broker report results/quickstart/seed-3
  simgrid-broker COMMAND --help
"""


class Commands(TyperGroup):
    """Group of commands whose errors become messages."""

    def invoke(self, ctx):
        """Run a command; an error becomes a message and an exit status."""
        with errors_as_messages():
            return super().invoke(ctx)


app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
                  epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})


@app.callback()
def program(version: bool = typer.Option(False, "--version", is_eager=True, callback=lambda value: show_version(value),
                                         help="Show the version and exit.")) -> None:
    """Discrete-event simulator of grid workload management with PanDA/JEDI's own rules."""


def show_version(is_set: bool) -> None:
    """Print the version of the package and exit, if `is_set`."""
    if is_set:
        from importlib.metadata import version
        typer.echo(f"{PROGRAM} {version('simgrid_broker')}")
        raise typer.Exit()


for command, examples in ((run.run, run.EXAMPLES), (check.check, check.EXAMPLES),
                          (run.report, run.REPORT_EXAMPLES), (compare.compare, compare.EXAMPLES),
                          (studies.replicate, studies.EXAMPLES), (studies.sweep, studies.SWEEP_EXAMPLES),
                          (studies.sensitivity, studies.SENSITIVITY_EXAMPLES), (studies.tune, studies.TUNE_EXAMPLES),
                          (calibrate.calibrate, calibrate.EXAMPLES),
                          (why.why, why.EXAMPLES), (coverage.coverage, coverage.EXAMPLES),
                          (explain.explain, explain.EXAMPLES),
                          (broker.broker, broker.EXAMPLES),
                          (match.match, match.EXAMPLES), (shares.shares, shares.EXAMPLES),
                          (users.users, users.EXAMPLES), (links.links, links.EXAMPLES),
                          (describe.describe, describe.EXAMPLES), (gdpconfig.gdpconfig, gdpconfig.EXAMPLES),
                          (scenarios.scenarios, scenarios.EXAMPLES)):
    dashes = {"ignore_unknown_options": command in (describe.describe, gdpconfig.gdpconfig)}      # tags begin with one
    app.command(epilog=examples, context_settings=dashes)(command)
app.add_typer(importing.app, name="import")
app.add_typer(exporting.app, name="export")


def main() -> None:
    """Run the program and exit."""
    app(prog_name=PROGRAM)

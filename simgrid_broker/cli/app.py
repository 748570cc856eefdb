"""The Typer application with all commands."""

from importlib import import_module

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from simgrid_broker.cli.trouble import errors_as_messages

PROGRAM = "simgrid-broker"

EXAMPLES = """\b
Examples:
  simgrid-broker check scenarios/quickstart.yaml
  simgrid-broker run scenarios/quickstart.yaml --seed 3
  simgrid-broker report results/quickstart/seed-3
  simgrid-broker COMMAND --help
"""


HOMES = {"run": "run", "check": "check", "report": "run", "compare": "compare", "replicate": "studies",
         "sweep": "studies", "sensitivity": "studies", "tune": "studies", "calibrate": "calibrate", "why": "why",
         "coverage": "coverage", "explain": "explain", "broker": "broker", "match": "match", "shares": "shares",
         "users": "users", "links": "links", "describe": "describe", "gdpconfig": "gdpconfig",
         "scenarios": "scenarios", "serve": "serve"}
"""Commands, and the modules in which functions of these names are."""
GROUPS = {"import": "importing", "export": "exporting"}
"""Commands with commands of their own, and their modules."""
TAKE_TAGS = ("describe", "gdpconfig")
"""Commands whose arguments may be tags, which begin with a dash as options do."""


class TakesTags(TyperCommand):
    """Command whose option -h stands alone: the h of `-zeroshare` is part of a tag."""

    def parse_args(self, ctx, args):
        """Read the arguments, -h as --help."""
        return super().parse_args(ctx, ["--help" if each == "-h" else each for each in args])


class Commands(TyperGroup):
    """Group of commands, each imported when it is asked for, whose errors become messages."""

    def list_commands(self, ctx):
        """Names of all commands, in the order of the help."""
        return [*HOMES, *GROUPS]

    def get_command(self, ctx, cmd_name):
        """The command of a name; None, with all others known by then, if there is none."""
        if cmd_name not in self.commands:
            wanted = [cmd_name] if cmd_name in HOMES or cmd_name in GROUPS else self.list_commands(ctx)
            self.commands.update({name: made(name) for name in wanted})
        return super().get_command(ctx, cmd_name)

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


def made(name: str):
    """The command, or group of commands, of a name."""
    module = import_module(f"{__package__}.{HOMES.get(name) or GROUPS[name]}")
    if name in GROUPS:
        return get_group(module.app)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    examples = getattr(module, f"{name.upper()}_EXAMPLES", module.EXAMPLES)
    tags = {"ignore_unknown_options": True, "help_option_names": ["--help"]} if name in TAKE_TAGS else {}
    kind = TakesTags if tags else TyperCommand
    alone.command(epilog=examples, context_settings=tags, cls=kind)(getattr(module, name))
    return get_command(alone)


def main() -> None:
    """Run the program and exit."""
    app(prog_name=PROGRAM)

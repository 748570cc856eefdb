"""`scenarios`: the scenarios that come with the package."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.cli.trouble import BadArgument

EXAMPLES = """\b
Examples:
  simgrid-broker scenarios
  simgrid-broker scenarios --copy scenarios
  simgrid-broker run quickstart
"""
HINT = ("Every command that takes a scenario takes these names too: `simgrid-broker run quickstart`. `--copy DIR` "
        "copies them, with the files that they read, to be changed.")
SNAPSHOT = "snapshot, for `broker` or `match`"


def scenarios(copy: Annotated[Path | None, typer.Option("--copy", metavar="DIR", help="Copy them to this folder, which "
                                                        "must not exist yet.", show_default=False)] = None) -> None:
    """List the scenarios that come with the package, or copy them."""
    from simgrid_broker.scenario.loading.documents import FOLDER, files, read_yaml
    if copy is None:
        values = {name: read_yaml(path.read_text(), str(path)).values for name, path in files().items()}
        typer.echo(table(("name", "what it shows"), [(name, whole.get("description", SNAPSHOT))
                                                     for name, whole in values.items()]))
        typer.echo("\n" + paragraph(HINT))
    elif copy.exists():
        raise BadArgument("--copy", str(copy), "the folder exists; name one that does not")
    elif FOLDER is not None:
        shutil.copytree(FOLDER, copy)
        typer.echo(f"{len(files())} scenarios: {copy}")

"""`serve`: the control room, a page of this machine on which runs and studies are listed, asked and started."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  simgrid-broker serve
  simgrid-broker serve /data/results --port 9000
  simgrid-broker serve --folder ~/scenarios --folder /data/cric
"""


def serve(
    results: Annotated[Path, typer.Argument(metavar="[RESULTS]", help="Folder of results; it is made if it does not "
                                            "exist.")] = Path("results"),
    port: Annotated[int, typer.Option(metavar="N", min=1, max=65535, help="Port on 127.0.0.1; the next free one if it "
                                      "is taken.")] = 8080,
    folders: Annotated[list[Path] | None, typer.Option("--folder", metavar="DIR", help="A folder of which scenarios "
                                                       "are edited and their files read, besides RESULTS and the "
                                                       "scenarios of the package; repeatable.",
                                                       show_default=False)] = None,
) -> None:
    """Serve the control room: a web page for this user on this machine.

    It lists the runs and studies below RESULTS, answers questions about them, starts others, and edits scenarios. The
    address that is printed has a token; the browser keeps it as a cookie. Ctrl-C ends the server and the runs that it
    started, whose complete results are kept. Needs the extra `desk`.
    """
    from simgrid_broker.desk.app import control_room, serve

    def say(address: str, taken: int) -> None:
        other = "" if taken == port else f" (port {port} is taken)"
        typer.echo(f"Control room of {results}{other}; Ctrl-C ends it. Open\n\n    {address}\n")
    serve(control_room(results, folders or ()), port, say)

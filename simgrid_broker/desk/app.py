"""The control room put together: pages, security, errors as pages, and the server on this machine."""

import errno
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from simgrid_broker.desk import editor, frame, questions, runs, start, uploads
from simgrid_broker.desk.frame import Desk, shown
from simgrid_broker.desk.jobs import Queue
from simgrid_broker.desk.security import LOOPBACK, Gate, Key, Places
from simgrid_broker.errors import OutputError, SimgridBrokerError
from simgrid_broker.scenario.loading.documents import FOLDER

PAGES = (runs, editor, uploads, start, questions, frame)
"""Modules with pages, in the order of their links in the bar at the top."""
MOST_PORTS = 20
"""Ports that are tried after one that is taken."""


def control_room(results: Path, folders: Sequence[Path] = ()) -> Desk:
    """The control room of a folder of results, which is made; folders: others that may be read.

    Raises InputFileError, OutputError.
    """
    try:
        Path(results).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {results}: {error}") from error
    places = Places(results, FOLDER, folders)
    return Desk(places, Queue(places))


def application(desk: Desk, key: Key) -> ASGIApp:
    """The ASGI application of a control room."""
    handlers: dict[Any, Callable[..., Any]] = {SimgridBrokerError: refusal, HTTPException: no_page}
    app = Starlette(routes=[route for page in PAGES for route in page.ROUTES], exception_handlers=handlers,
                    lifespan=_lifespan)
    app.state.desk, app.state.links = desk, [link for page in PAGES for link in page.LINKS]
    return Gate(app, key)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Run the jobs of the queue while the server runs."""
    queue = app.state.desk.queue
    queue.start()
    yield
    await run_in_threadpool(queue.end)


def refusal(request: Request, error: Exception) -> Response:
    """The message of an error of the package."""
    return shown(request, "refusal.html", 400, title="This cannot be done", message=str(error))


def no_page(request: Request, error: Exception) -> Response:
    """The status and reason of an HTTP error."""
    assert isinstance(error, HTTPException)
    return shown(request, "refusal.html", error.status_code, title=f"{error.status_code}", message=error.detail)


def bound(port: int) -> socket.socket:
    """A socket on a port of this machine alone, or on one of the next if it is taken; raises OutputError."""
    for number in range(port, port + MOST_PORTS + 1):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, number))
            listener.listen()                                        # two servers may bind a port, one may listen
            return listener
        except (OSError, OverflowError) as error:
            listener.close()
            if getattr(error, "errno", None) not in (errno.EADDRINUSE, errno.EACCES):
                raise OutputError(f"cannot listen on port {number}: {error}") from error
    raise OutputError(f"the ports {port} to {port + MOST_PORTS} are taken; choose another one with --port")


def serve(desk: Desk, port: int, say: Callable[[str, int], None]) -> None:
    """Serve a control room until Ctrl-C or SIGTERM; say(address, port): called with the first address and its port."""
    with bound(port) as listener:
        key = Key(listener.getsockname()[1])
        config = uvicorn.Config(application(desk, key), log_level="warning", access_log=False, server_header=False,
                                timeout_graceful_shutdown=2, ws="none")
        say(key.address, key.port)
        Server(config, desk).run(sockets=[listener])


class Server(uvicorn.Server):
    """A server that tells its pages when it closes, so that none of them waits for the next event."""

    def __init__(self, config: uvicorn.Config, desk: Desk):
        super().__init__(config)
        self.desk = desk

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to close."""
        self.desk.closing.set()
        super().handle_exit(sig, frame)

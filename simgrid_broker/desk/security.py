"""Who may ask the control room, and which files it reads.

One user on this machine: a random token in the first address is exchanged for a cookie, which every request needs.
Sources: OWASP, Cross-Site Request Forgery Prevention and DNS rebinding; RFC 6265bis on cookies, W3C Referrer Policy.
"""

import hmac
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simgrid_broker.errors import InputFileError, Problem, nearest

LOOPBACK = "127.0.0.1"
TOKEN = "token"
READS = ("GET", "HEAD")
"""Methods that change nothing."""
MOST_BYTES = 64 << 20
"""Largest body of a request: CRIC's dump of all queues has 12 MB."""

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
          "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
"""Content-Security-Policy of a page: scripts are files of this server alone."""
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
           "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
           "Cross-Origin-Opener-Policy": "same-origin"}
"""Headers of every response that does not have them already."""
LOCKED = "Open the address that `simgrid-broker serve` printed: it has the token of this server."


@dataclass(frozen=True)
class Key:
    """Secrets of one server on a port: the token of the first address, and the cookie for which it is exchanged."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def cookie_name(self) -> str:
        """Name of the cookie, with the port: browsers send cookies of a host to all of its ports."""
        return f"simgrid_broker_{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Values of Host that name this server."""
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """The first address."""
        return f"http://{LOOPBACK}:{self.port}/?{urlencode({TOKEN: self.token})}"


class Gate:
    """ASGI application that asks for the key before another one, and adds headers to each response."""

    def __init__(self, app: ASGIApp, key: Key, most_bytes: int = MOST_BYTES):
        self.app, self.key, self.most_bytes = app, key, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self.answer(Request(scope)) or self.app
            await answer(scope, _limited(receive, self.most_bytes), _with_headers(send))

    def answer(self, request: Request) -> Response | None:
        """Refusal of a request, or the exchange of its token for the cookie; None if it may pass."""
        if request.headers.getlist("host") not in [[host] for host in self.key.hosts]:
            return _refused(421, "Host must be 127.0.0.1 or localhost with the port of this server.")
        token = request.query_params.get(TOKEN)
        if token is not None and request.method == "GET" and _same(token, self.key.token):
            return self._exchanged(request)
        if not _same(request.cookies.get(self.key.cookie_name, ""), self.key.cookie):
            return _refused(403, LOCKED)
        origin = f"http://{request.headers['host']}"
        if request.method not in READS and request.headers.getlist("origin") != [origin]:
            return _refused(403, "A change must come from a page of this server (Origin).")
        size = request.headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > self.most_bytes:
            return _refused(413, too_large(self.most_bytes))
        return None

    def _exchanged(self, request: Request) -> Response:
        """Redirection to the same address without the token, with the cookie."""
        rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != TOKEN])
        path = "/" + quote(request.scope["path"].lstrip("/"))          # two slashes would begin another host
        response = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(self.key.cookie_name, self.key.cookie, path="/", httponly=True, samesite="strict")
        return response


def too_large(most_bytes: int) -> str:
    """Sentence about a body of more bytes."""
    return f"An upload may have at most {most_bytes >> 20} MiB."


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(f"simgrid-broker: {reason}\n", status)


def _same(given: str, expected: str) -> bool:
    """Compare secrets in a time that does not depend on them."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _limited(receive: Receive, most_bytes: int) -> Receive:
    """A receiver that raises HTTPException once a body has more bytes, whatever its headers say."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most_bytes:
            raise HTTPException(413, too_large(most_bytes))
        return message
    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)
    return sending


class Places:
    """Folders of which files may be read, by name: results, scenarios of the package, and others named at start.

    A place in one of them is written `name/folder/file`.
    """

    def __init__(self, results: Path, shipped: Path | None = None, others: Iterable[Path] = ()):
        self.results = Path(results).resolve()
        self.folders: dict[str, Path] = {"results": self.results}
        if shipped is not None:
            self.folders["scenarios"] = shipped.resolve()
        for other in others:
            if not Path(other).is_dir():
                raise InputFileError([Problem(None, None, "--folder", str(other), "is not a folder")])
            self.folders[_free_name(Path(other).resolve().name or "root", self.folders)] = Path(other).resolve()

    def path(self, place: str) -> Path:
        """The file or folder at a place. Raises InputFileError if it is missing, or leads out of its folder."""
        name, _, rest = place.partition("/")
        if not place:
            raise _unreadable("no file or folder", "choose one")
        if name not in self.folders:
            raise _unreadable(place, "is not in a folder that may be read", nearest(name, self.folders))
        root, parts = self.folders[name], [part for part in rest.split("/") if part]
        if any(part == ".." or "\0" in part for part in parts):
            raise _unreadable(place, "leads out of the folder")
        path = root.joinpath(*parts)
        if not path.resolve().is_relative_to(root):
            raise _unreadable(place, "leads out of the folder by a link")
        try:
            path.stat()
        except OSError as error:                                            # none of this name, or one that is too long
            raise _unreadable(place, "does not exist" if isinstance(error, FileNotFoundError) else str(error.strerror)
                              ) from None
        return path

    def place(self, path: Path) -> str:
        """The place of a file or folder below one of the folders, links in it followed; raises InputFileError."""
        path = Path(path).resolve()
        for name, root in self.folders.items():
            if path.is_relative_to(root):
                return "/".join([name, *path.relative_to(root).parts])
        raise _unreadable(str(path), "is not in a folder that may be read")

    def without_links(self, place: str) -> Path:
        """As `path`, for a change: no part of the place may be a link. Raises InputFileError."""
        path = self.path(place)
        root = self.folders[place.partition("/")[0]]
        if path == root or any(each.is_symlink() for each in (path, *path.parents) if each.is_relative_to(root)
                               and each != root):
            raise _unreadable(place, "is a folder named at start, or is reached through a link")
        return path


def _free_name(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken: itself, else with a number."""
    return next(each for each in _numbered(name) if each not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _unreadable(place: str, why: str, near: tuple[str, ...] = ()) -> InputFileError:
    return InputFileError([Problem(place, None, "", None, why, near)])

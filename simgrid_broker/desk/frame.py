"""Frame of every page: templates with escaped values, tables of the report, and what a page may use."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from simgrid_broker.desk.jobs import Queue
from simgrid_broker.desk.security import Places
from simgrid_broker.report.page import STYLE, table_html
from simgrid_broker.report.script import SCRIPT
from simgrid_broker.units import format_seconds

STATIC = Path(__file__).parent / "static"
MOST_TEXT = 4 << 20
TYPES = {".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True)
class Desk:
    """One control room: the folders that may be read, its queue of runs and studies, and if the server is closing."""

    places: Places
    queue: Queue
    closing: threading.Event = field(default_factory=threading.Event)


def desk_of(request: Request) -> Desk:
    """The control room that a request asks."""
    return request.app.state.desk


def shown(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """A page of a template of `templates/`, of which all values are escaped."""
    text = TEMPLATES.get_template(template).render(values, links=request.app.state.links, here=request.url.path)
    return HTMLResponse(text, status)


async def fields(request: Request) -> dict[str, str]:
    """Fields of a form that are texts, by name, each of at most MOST_TEXT bytes."""
    form = await request.form(max_part_size=MOST_TEXT)
    return {name: value for name, value in form.items() if isinstance(value, str)}


def moved(address: str) -> Response:
    """Redirection after a change: the page is fetched again with GET."""
    return RedirectResponse(address, 303)


def address(kind: str, place: str) -> str:
    """Address of a page of a kind about a place, not encoded: `/run/results/minimal/seed-1`."""
    return f"/{kind}/{place}"


def encoded(kind: str, place: str) -> str:
    """As `address`, as an attribute of a link and a redirection have it."""
    return quote(address(kind, place))


def table(frame: pd.DataFrame, indent: Sequence[int] = ()) -> Markup:
    """A table as in reports, which sorts and filters; see `report.page.table_html`."""
    return Markup(f'<div class="scroll">{table_html(frame, indent)}</div>')     # table_html escapes its cells


TEMPLATES = Environment(loader=PackageLoader("simgrid_broker.desk"), autoescape=True, undefined=StrictUndefined,
                        trim_blocks=True, lstrip_blocks=True)
TEMPLATES.filters |= {"table": table, "seconds": format_seconds}
TEMPLATES.globals |= {"address": encoded}


def static(request: Request) -> Response:
    """A style or script: those of the report, and files of `static/`."""
    name = request.path_params["name"]
    if name == "report.css":
        return Response(STYLE, media_type="text/css")
    if name == "report.js":
        return Response(SCRIPT, media_type="text/javascript")
    if name not in {path.name for path in STATIC.iterdir()}:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=TYPES.get(Path(name).suffix, "application/octet-stream"))


ROUTES = (Route("/static/{name}", static),)
LINKS: tuple[tuple[str, str], ...] = ()

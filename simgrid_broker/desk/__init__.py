"""The control room, `simgrid-broker serve`: runs and studies in a browser of this machine.

A page is added in three steps:

1. A module of this room with one function for each address, `async def page(request) -> Response`, or without `async`
   if it reads files or computes: such a function runs in a thread. `frame.desk_of(request)` has the folders that may be
   read (`places`) and the queue of runs and studies (`queue`); `frame.fields` has those of a form;
   `frame.shown(request, "name.html", key=value)` renders a template of `templates/`, which begins with
   `{% extends "frame.html" %}` and escapes every value.
2. `ROUTES`, a tuple of Starlette's `Route`, and `LINKS`, a tuple of (title, address) for the bar at the top, at the end
   of the module.
3. The module's name in `app.PAGES`.

Everything else holds for each page: `security.Gate` asks for the cookie, Host and Origin before a route is looked up
and limits the size of a body; a SimgridBrokerError becomes a page with its message and status 400; scripts are files
of `static/`, since the policy of a page runs none that is written in it. A change is a POST and ends with
`frame.moved(address)`.
"""

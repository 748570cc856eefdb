"""Only the user who started the control room reaches it, and it reads only the folders that it was given."""

import os

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from simgrid_broker.desk import app
from simgrid_broker.desk.app import application, control_room
from simgrid_broker.desk.security import LOOPBACK, Gate, Places
from simgrid_broker.errors import InputFileError


def addresses():
    """An address of each route of every page."""
    return [route.path.replace("{place:path}", "results").replace("{name}", "desk.css")
            for page in app.PAGES for route in page.ROUTES]


def test_every_route_needs_the_cookie_even_those_that_do_not_exist(stranger):
    answers = {path: stranger.request(method, path, headers={"Origin": "http://127.0.0.1:8080"}).status_code
               for path in (*addresses(), "/no/such/page") for method in ("GET", "POST", "HEAD", "OPTIONS", "DELETE")}
    assert set(answers.values()) == {403} and "/" in answers and "/files/results" in answers


def test_the_token_becomes_a_cookie_and_leaves_the_address(stranger, key):
    first = stranger.get(f"/run/results/a?x=1&token={key.token}")
    cookie = first.headers["set-cookie"]
    assert (first.status_code, first.headers["location"]) == (303, "/run/results/a?x=1")
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and key.token not in cookie
    assert stranger.get("/").status_code == 200
    for path in ("//elsewhere.example", "/%5Celsewhere.example", "///elsewhere.example"):
        away = stranger.get(f"http://127.0.0.1:8080{path}?token={key.token}").headers["location"]
        assert away in ("/elsewhere.example", "/%5Celsewhere.example")


def test_a_wrong_token_or_cookie_opens_nothing(stranger, key):
    assert stranger.get("/?token=wrong").status_code == 403
    assert stranger.get("/?token=caf\u00e9").status_code == 403
    assert stranger.post(f"/?token={key.token}", headers={"Origin": "http://127.0.0.1:8080"}).status_code == 403
    stranger.cookies.set(key.cookie_name, key.token)
    assert stranger.get("/").status_code == 403


def test_each_response_says_what_a_browser_may_do_with_it(browser, stranger):
    for answer in (browser.get("/"), browser.get("/no/such/page"), browser.get("/run/results/none")):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy and "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
        assert answer.headers["referrer-policy"] == "no-referrer" and answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("host", "status"), [
    ("127.0.0.1:8080", 200), ("localhost:8080", 200), ("127.0.0.1", 421), ("127.0.0.1:8081", 421),
    ("rebound.example:8080", 421), ("127.0.0.1:8080.example", 421), ("", 421)])
def test_another_host_is_refused(browser, host, status):
    assert browser.get("/", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(("origin", "status"), [
    ("http://127.0.0.1:8080", 405), ("http://localhost:8080", 403), ("https://127.0.0.1:8080", 403), ("null", 403),
    ("http://127.0.0.1:8081", 403), (None, 403)])
def test_a_change_needs_the_origin_of_the_page(browser, origin, status):
    del browser.headers["Origin"]
    assert browser.post("/", headers={} if origin is None else {"Origin": origin}).status_code == status


def test_pages_send_a_referrer_to_this_server_as_browsers_else_hide_the_origin_of_a_form(browser):
    assert '<meta name="referrer" content="same-origin">' in browser.get("/start").text


def test_a_body_has_a_limit_whatever_its_length_says(results, key):
    async def reads(request):
        return Response(await request.body())
    browser = TestClient(Gate(Starlette(routes=[Route("/", reads, methods=["POST"])]), key, most_bytes=10), base_url="http://127.0.0.1:8080",
                         cookies={key.cookie_name: key.cookie}, headers={"Origin": "http://127.0.0.1:8080"})
    assert browser.post("/", content=b"x" * 10).content == b"x" * 10
    assert browser.post("/", content=b"x" * 11).status_code == 413
    assert browser.post("/", content=iter([b"x" * 6, b"x" * 6])).status_code == 413


def test_the_server_listens_on_this_machine_alone_and_takes_the_next_port_of_a_taken_one():
    with app.bound(18400) as first, app.bound(18400) as second:
        assert first.getsockname()[0] == LOOPBACK == second.getsockname()[0]
        assert 18400 <= first.getsockname()[1] < second.getsockname()[1] <= 18420


@pytest.fixture
def places(tmp_path):
    """Results with a file, beside a file outside and links that lead there and to one within."""
    (tmp_path / "results" / "run").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "results" / "run" / "a.txt").write_text("a")
    (tmp_path / "results" / "out").symlink_to(tmp_path)
    (tmp_path / "results" / "in").symlink_to(tmp_path / "results" / "run")
    return Places(tmp_path / "results")


@pytest.mark.parametrize("place", [
    "results/../secret.txt", "results/run/../../secret.txt", "results/out/secret.txt", "results/out", "etc/passwd",
    "/etc/passwd", "results//../secret.txt", "results/run/\0", "..", "", "results/none"])
def test_no_file_outside_is_found(places, place):
    with pytest.raises(InputFileError):
        places.path(place)


def test_files_within_are_found_also_by_a_link_that_stays_there(places):
    assert places.path("results/run/a.txt") == places.results / "run" / "a.txt"
    assert places.path("results/in/a.txt").read_text() == "a"
    assert places.place(places.results / "in" / "a.txt") == "results/run/a.txt"


@pytest.mark.parametrize("place", ["results", "results/in", "results/in/a.txt"])
def test_nothing_is_changed_through_a_link(places, place):
    assert places.without_links("results/run/a.txt")
    with pytest.raises(InputFileError, match="link"):
        places.without_links(place)


def test_files_and_pages_do_not_lead_out(browser, results, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    os.symlink(tmp_path, results / "out")
    for place in ("results/%2e%2e/secret.txt", "results/..%2fsecret.txt", "results/out/secret.txt", "%2fetc/passwd"):
        for kind in ("files", "run", "study"):
            answer = browser.get(f"/{kind}/{place}")
            assert answer.status_code in (400, 404) and "secret\n" not in answer.text, place


def test_folders_named_at_start_are_read_and_others_are_not(results, key, tmp_path):
    (tmp_path / "data" / "results").mkdir(parents=True)
    (tmp_path / "data" / "results" / "cric.json").write_text("{}")
    desk = control_room(results, [tmp_path / "data" / "results"])
    with TestClient(application(desk, key), base_url="http://127.0.0.1:8080") as browser:
        browser.get(key.address)
        assert browser.get("/files/results-2/cric.json").text == "{}"
        assert browser.get("/files/results/cric.json").status_code == 400
    with pytest.raises(InputFileError, match="is not a folder"):
        control_room(results, [tmp_path / "none"])


def test_the_script_of_a_page_of_results_runs_only_if_it_is_that_of_reports(browser, results):
    (results / "x").mkdir()
    (results / "x" / "report.html").write_text("<script>alert(1)</script>")
    (results / "x" / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    policy = browser.get("/files/results/x/report.html").headers["content-security-policy"]
    assert "script-src 'sha256-" in policy and "unsafe-inline" not in policy.split("script-src")[1]
    assert "script" not in browser.get("/files/results/x/picture.svg").headers["content-security-policy"]


def test_names_reach_the_page_as_text(browser, results):
    folder = results / "<script>alert(1)<" / '"q"'
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"status": "<b>no</b>"}')
    page = browser.get("/").text
    assert "<script>alert" not in page and "<b>no" not in page and "&lt;script&gt;alert(1)&lt;" in page
    damaged = browser.get("/run/results/%3Cscript%3Ealert(1)%3C/%22q%22").text
    assert "<script>alert" not in damaged and "damaged" in damaged

"""The editor of scenarios in a browser: load a grid, change a key, see a remark, run; on a phone, without scripts."""

import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SITES = {"ALPHA": {
    "SITE_PROPERTIES": {"GFLOPS": "1000", "storage_capacity_bytes": "6e12", "storage_utilization_ratio": "0.1",
                        "file_count": "1"},
    "CPUInfo": [{"units": 2, "speed": 3e7, "cores": 24, "BW_CPU": "3725GBps", "LAT_CPU": "72ns",
                 "properties": [{"ram": "19456GB"}],
                 "disks": [{"name": "ALPHA_DATADISK", "read_bw": "3181MBps", "write_bw": "2224MBps"}]}]}}
"""One site in the form of CGSim's file."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """First address of a control room, which runs as a process of its own."""
    results = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "simgrid_broker", "serve", str(results), "--port", "8511"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        process.terminate()
        process.stdout.read()


@pytest.fixture
def here(tab, server):
    """The page, which has the cookie, and the address of the server."""
    tab.goto(server)
    return server.partition("/?")[0]


@pytest.fixture(scope="module")
def loaded(browser, server, tmp_path_factory):
    """Address of the editor of a grid that was loaded from two files."""
    folder = tmp_path_factory.mktemp("uploads")
    (folder / "sites.json").write_text(json.dumps(SITES))
    (folder / "links.json").write_text("{}")
    page = browser.new_page()
    page.goto(server)
    page.get_by_role("link", name="Load a grid").click()
    page.get_by_label("Name").fill("alpha")
    for name in ("sites", "links"):
        page.locator(f"input[name={name}]").set_input_files(folder / f"{name}.json")
    page.get_by_role("button", name="Load").click()
    assert "CGSim files sites.json and links.json: 1 sites" in page.inner_text("body")
    page.get_by_role("link", name="Edit the scenario").click()
    assert "It can be run" in page.inner_text("body")
    address = page.url
    page.context.close()
    return address


def test_a_key_is_changed_its_remark_seen_and_the_scenario_run(tab, here, loaded):
    tab.goto(loaded)
    tab.get_by_role("link", name="gdpconfig", exact=True).click()
    tab.get_by_label("Search").fill("message_driven")
    tab.get_by_role("button", name="Show").click()
    tab.get_by_label("taskrefiner.USER_TASKS_MESSAGE_DRIVEN_PERCENT").fill("5")
    tab.get_by_role("button", name="Apply the changes").click()
    assert "has no effect: agents act on their periods" in tab.locator(".key .remark").inner_text()
    tab.get_by_role("link", name="Other values").click()
    tab.get_by_label("duration").fill("soon")
    tab.get_by_role("button", name="Apply the changes").click()
    assert "is not a time" in tab.locator(".key .error").inner_text()
    tab.get_by_role("button", name="Undo").click()
    tab.get_by_label("duration").fill("1h")
    tab.get_by_role("button", name="Apply the changes").click()
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("link", name="Run", exact=True).click()
    tab.get_by_role("button", name="Start").click()
    tab.get_by_text(re.compile(r"\bdone\b")).first.wait_for(timeout=120_000)


def test_all_parts_fit_on_a_phone_and_work_without_scripts(browser, server, loaded):
    context = browser.new_context(viewport={"width": 420, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(server)
    for part in ("shares", "gdpconfig", "incidents&kind=task_command", "values", "text"):
        page.goto(f"{loaded}?part={part}")
        assert page.locator("html").bounding_box()["width"] == 420
        assert all(box["x"] + box["width"] <= 420 for one in page.locator("input:visible, button:visible").all()
                   if (box := one.bounding_box()))
    page.goto(f"{loaded}?part=shares")
    page.get_by_label("Name").last.fill("Late")
    page.get_by_label("Value").last.fill("3")
    page.get_by_role("button", name="Add").click()
    assert "Late 75.00 % of the whole" in page.inner_text("body")
    context.close()

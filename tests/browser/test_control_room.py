"""The control room in a browser: a key is changed, the run is laid over its base, and another one is cancelled."""

import re
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path, heeds_ctrl_c):
    """First address of a server of an empty folder of results."""
    server = subprocess.Popen([sys.executable, "-m", "simgrid_broker", "serve", "results", "--port", "18460"],
                              cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=heeds_ctrl_c)
    yield re.search(r"http://\S+", "".join(server.stdout.readline() for _ in range(3)))[0]
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=60)
    assert server.returncode == 130 and errors == ""


def start(tab, until, settings=""):
    """Fill the form with a run of the smallest scenario, and start it."""
    tab.get_by_role("link", name="Start", exact=True).click()
    tab.get_by_label("Scenario, or a run whose scenario is run again").select_option("scenarios/minimal.yaml")
    tab.get_by_role("textbox", name=re.compile("^Settings")).fill(settings)
    tab.get_by_label("Duration").fill(until)
    tab.get_by_role("button", name="Start").click()


def ends(tab, state):
    """Wait until the page says how its job ended; it shows itself again when that changes."""
    tab.locator("p.lead", has_text=re.compile(f"^{state}$")).wait_for(timeout=120_000)


def test_a_key_is_changed_a_run_laid_over_its_base_and_another_cancelled(served, tab):
    tab.goto(served)
    assert "token" not in tab.url
    start(tab, "8h")
    ends(tab, "done")
    start(tab, "8h", "shares.Analysis.value=50\nshares.Production.value=50")
    ends(tab, "done")
    tab.get_by_role("link", name=re.compile("^Results")).click()
    tab.get_by_label("Base").select_option("results/minimal/seed-1")
    tab.get_by_role("button", name="Overlay").click()
    ends(tab, "done")
    tab.get_by_role("link", name=re.compile("^Results")).click()
    expect(tab).to_have_title("Comparison of two runs")
    assert "shares.Analysis.value" in tab.content()
    tab.go_back()
    tab.set_viewport_size({"width": 420, "height": 900})
    kinds = ("run", "why", "shares", "explain", "users", "links", "coverage")
    long_key = "/start?vary=gdpconfig.prod_job_throttler.NRUNNINGCAP_Derivations%3D60,120,240"
    for path in ("/", "/queue", long_key, *(f"/{kind}/results/minimal/seed-1-2" for kind in kinds)):
        tab.goto(f"{served.partition('/?')[0]}{path}")
        assert tab.evaluate("document.documentElement.scrollWidth") == 420, path
    tab.set_viewport_size({"width": 1280, "height": 900})
    start(tab, "400d", "record.jobs=false")
    tab.locator("[data-share=Analysis]").wait_for(timeout=120_000)        # the page shows shares once there are any
    tab.get_by_role("button", name=re.compile("^Cancel")).click()
    tab.get_by_role("cell", name="cancelled").wait_for(timeout=120_000)
    tab.get_by_role("link", name="minimal/seed-1-3").click()
    assert "interrupted" in tab.locator("p.lead").inner_text()
    tab.get_by_label("Notes").fill("cut short <script>document.title = 'evil'</script>")
    tab.get_by_role("button", name="Keep the notes").click()
    expect(tab).to_have_title("minimal/seed-1-3")
    assert "cut short <script>" in tab.get_by_label("Notes").input_value()
    tab.get_by_label("Delete the folder of this run").check()
    tab.get_by_role("button", name="Delete").click()
    expect(tab).to_have_title("Runs and studies")
    assert "seed-1-3" not in tab.locator("table").inner_text()

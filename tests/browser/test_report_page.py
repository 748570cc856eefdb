"""The report of a run in a browser."""

import pytest

from simgrid_broker import load_scenario, simulate, write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minimal(tmp_path_factory):
    """The report of `minimal.yaml`."""
    return write_report(simulate(load_scenario("minimal"), out=tmp_path_factory.mktemp("minimal") / "run"))


def test_the_report_opens_under_its_policy_without_an_error(tab, minimal):
    tab.goto(minimal.as_uri())
    assert "minimal" in tab.title() and tab.locator("svg.plot").count() > 10
    assert tab.evaluate("document.querySelectorAll('th[tabindex]').length") > 10, "the script of the page has run"

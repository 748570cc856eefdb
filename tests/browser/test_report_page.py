"""The report of a run in a browser: values under the pointer, the time chosen, tables, links, a phone, paper."""

import re

import pytest

from simgrid_broker import load_scenario, simulate, write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """Address of the report of a day of `quickstart.yaml` with a share that its throttler holds back."""
    plan = load_scenario("quickstart").with_values({"gdpconfig.NRUNNINGCAP_Derivations": 60})
    return write_report(simulate(plan, out=tmp_path_factory.mktemp("quickstart") / "run")).as_uri()


def plot_area(tab, picture):
    """Box of the first axes of a picture over time, pixels, once these can be looked into."""
    tab.locator(f"#plot-{picture}").scroll_into_view_if_needed()
    area = tab.locator(f".picture:has(#plot-{picture}) .u-over").first
    area.wait_for()
    return area.bounding_box()


def point(tab, box, across):
    """Move the pointer to a part of the width of a box, half-way up."""
    tab.mouse.move(box["x"] + across * box["width"], box["y"] + box["height"] / 2, steps=3)


def rows_shown(tab, table):
    """Texts of the visible rows of a table."""
    return [row.inner_text() for row in tab.locator(f"{table} tbody tr").all() if row.is_visible()]


def test_the_pointer_shows_the_values_of_all_curves(tab, quickstart):
    tab.goto(f"{quickstart}#cores")
    point(tab, plot_area(tab, "cores_by_share"), 0.5)
    tip = tab.locator(".tip.on").inner_text()
    assert re.search(r"time\s+1[34] h", tip) and re.search(r"Derivations\s+[\d.,]+", tip) and "outage" in tip
    point(tab, plot_area(tab, "cores_by_share"), 0.1)
    assert "outage" not in tab.locator(".tip.on").inner_text()


def test_a_time_chosen_in_one_picture_is_that_of_all_and_of_the_address(tab, quickstart):
    tab.goto(f"{quickstart}#cores")
    box = plot_area(tab, "cores_by_share")
    point(tab, box, 0.4)
    tab.mouse.down()
    point(tab, box, 0.6)
    tab.mouse.up()
    start, end = map(int, re.search(r"#plot-cores_by_share\?time=(\d+)-(\d+)$", tab.url).groups())
    assert start == pytest.approx(12 * 3600, abs=600) and end == pytest.approx(16 * 3600, abs=600)
    plot_area(tab, "traffic")
    moved = [re.match(r"matrix\(([\d.]+) ", one.get_attribute("transform")) for one in tab.locator(".moving").all()]
    assert {round(float(one.group(1)), 1) for one in moved} == {5.0}
    address = tab.url
    tab.get_by_text("Whole time").click()
    assert "time=" not in tab.url and tab.locator(".moving").first.get_attribute("transform") == "matrix(1 0 0 1 0 0)"
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.locator("body.zoomed").count() == 1


def test_a_name_hides_its_curve_and_says_so(tab, quickstart):
    tab.goto(f"{quickstart}#cores")
    box = plot_area(tab, "cores_by_share")
    tab.locator("#plot-cores_by_share text", has_text="Derivations").click()
    assert tab.locator("#plot-cores_by_share .moving .off").count() == 1
    assert not tab.locator("#plot-cores_by_share .moving .off path").first.is_visible()
    assert tab.get_by_text("Hidden: Derivations.").is_visible()
    point(tab, box, 0.5)
    assert "Derivations" not in tab.locator(".tip.on").inner_text()


def test_tables_sort_and_filter_and_their_address_says_so(tab, quickstart):
    tab.goto(f"{quickstart}#cores")
    table = "#cores table"
    whole = rows_shown(tab, table)
    tab.locator(f"{table} th", has_text="Idle").click()
    idle = [float(row.split("\t")[-2].replace(",", "")) for row in rows_shown(tab, table)]
    assert len(idle) == len(whole) and idle == sorted(idle, reverse=True)
    tab.locator("#cores .filter").fill("T1-DE")
    assert 0 < len(rows_shown(tab, table)) < len(whole) and all("T1-DE" in row for row in rows_shown(tab, table))
    shown, address = rows_shown(tab, table), tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert rows_shown(tab, table) == shown


def test_the_page_is_dark_fits_a_phone_and_prints_on_eight_pages(tab, quickstart):
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size({"width": 420, "height": 900})
    tab.goto(quickstart)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 29)"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 420
    letters = tab.evaluate("Math.min(...[...document.querySelectorAll('.plot text')].map(text => "
                           "text.getAttribute('font-size') * text.getScreenCTM().a || 99))")
    assert letters > 7, "pixels"
    pages = re.findall(rb"/Type */Page\b", tab.pdf(prefer_css_page_size=True))
    assert 3 < len(pages) <= 8


def test_links_lead_from_a_share_to_its_task_the_decision_and_the_queue_and_back(tab, quickstart):
    tab.goto(quickstart)
    row = tab.locator("tr[id='short-Derivations']")
    assert row.bounding_box()["y"] < 900 and "running > NRUNNINGCAP" in row.inner_text()
    row.get_by_text("throttler: running > NRUNNINGCAP").click()
    assert tab.url.endswith("#brokerage")
    tab.go_back()
    row.locator("a[href^='#task']").click()
    assert "#task-" in tab.url
    task = tab.locator("tr[id^='decision-']:has(a[href^='#queue'])").first.get_attribute("id").partition("-")[2]
    for start, kind in ((f"task-{task}", "decision"), (f"decision-{task}", "queue")):
        tab.locator(f"tr[id='{start}'] a[href^='#{kind}']").click()
        address = tab.url.partition("#")[2]
        assert address.startswith(f"{kind}-") and -1 < tab.locator(f"[id='{address}']").bounding_box()["y"] < 900
    tab.go_back()
    assert tab.url.endswith(f"#decision-{task}")

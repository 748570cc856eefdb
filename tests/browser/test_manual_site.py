"""The manual as a site: built without a warning, no broken link, nothing from elsewhere, a search from the disk."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Addresses(HTMLParser):
    """Ids of a page, targets of its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Keep the addresses of a tag."""
        self.ids |= {value for name, value in attrs if name in ("id", "name")}
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]
        self.loads += [value for name, value in attrs if (tag, name) in LOADED and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the site that this checkout makes; a warning of Sphinx ends the build with an error."""
    pytest.importorskip("sphinx", reason="needs the extra `docs`")
    out = tmp_path_factory.mktemp("manual")
    built = subprocess.run([sys.executable, ROOT / "scripts" / "make_manual.py", out], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return out


@pytest.fixture(scope="module")
def pages(site):
    """Addresses of every page by its path."""
    return {path: Addresses(path.read_text(encoding="utf-8")) for path in site.glob("*/**/*.html")}


def broken(address, page, pages):
    """True for a link within the site whose file or place on a page is not there."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return False
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    place = unquote(parts.fragment)
    return not target.is_file() or bool(place) and target in pages and place not in pages[target].ids


def test_every_link_within_the_site_has_its_target(pages):
    assert len(pages) > 40
    assert {(page.name, address) for page, found in pages.items() for address in [*found.links, *found.loads]
            if broken(address, page, pages)} == set()


def test_rules_of_the_fidelity_page_have_three_columns_and_their_code_in_the_rule_book(site):
    page = (site / "docs" / "fidelity.html").read_text(encoding="utf-8").partition('id="readings-of-the-documents"')[0]
    rows = page.rpartition("<table")[2].split("<tr")[2:]
    assert len(rows) > 100 and {row.count("<td") for row in rows} == {3}
    page = (site / "docs" / "rules" / "job_brokerage.html").read_text(encoding="utf-8")
    assert "policy.funnel.first_refusals" in page


def test_nothing_is_loaded_from_elsewhere(site, pages):
    assert {(page.name, address) for page, found in pages.items() for address in found.loads
            if urlsplit(address).netloc} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert "url(http" not in styles and "url(//" not in styles and "@import" not in styles


@pytest.mark.parametrize(("words", "page"), [
    ("NQUEUELIMITSITE", "gdpconfig.html"), ("zero_share", "rules/job_brokerage.html"), ("jumbo", "rules/events.html"),
])
def test_the_search_finds_words_from_the_disk(site, tab, words, page):
    requests = []
    tab.on("request", lambda asked: requests.append(asked.url))
    tab.goto(f"file://{site}/search.html?q={words}")
    tab.wait_for_selector(f"ul.search a[href*='{page}']", timeout=20_000)
    assert [url for url in requests if not url.startswith("file://")] == []


def too_wide(tab, width):
    """True if the page in a tab has to be scrolled sideways in a window of a width."""
    tab.set_viewport_size({"width": width, "height": 900})
    return tab.evaluate("document.documentElement.scrollWidth") > width


def test_pages_fit_a_phone_and_screens_of_all_widths(browser, site, pages):
    tab, widths = browser.new_page(), (700, 1100, 1280, 1312, 1320, 1560, 1640, 1900, 2600)
    wide = []
    for path in sorted(pages):
        tab.goto(f"file://{path}")
        wide += [path.name] if too_wide(tab, 420) else []
    tab.goto(f"file://{site}/docs/gdpconfig.html")
    wide += [width for width in widths if too_wide(tab, width)]
    tab.close()
    assert wide == []

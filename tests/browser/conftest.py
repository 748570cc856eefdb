"""A headless Chromium that is installed already, driven by Playwright, which fetches none."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Commands of the browser, the first on the PATH is taken."""
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
SIZE = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser():
    """The installed browser, for the tests of one file: Playwright's event loop runs as long as the fixture lives."""
    command = next(filter(None, map(shutil.which, NAMES)), None)
    if command is None:
        pytest.skip("needs a browser: apt-get install -y chromium")
    started = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").sync_playwright
    as_root = ("--no-sandbox",) if os.getuid() == 0 else ()
    with started() as playwright:
        chromium = playwright.chromium.launch(executable_path=command, args=[*FLAGS, *as_root])
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser):
    """An empty page of 1280 x 900; the test fails if anything in it throws or logs an error, as a refused script."""
    errors = []
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []

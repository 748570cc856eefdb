"""Pages in the installed browser."""

import installed_browser
import pytest

SIZE = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser():
    """The installed browser, for the tests of one file."""
    if installed_browser.command() is None:
        pytest.skip(installed_browser.INSTALL)
    pytest.importorskip("playwright.sync_api", reason="needs the extra `test`")
    with installed_browser.launched() as chromium:
        yield chromium


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

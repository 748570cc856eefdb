"""A headless Chromium that is installed already, driven by Playwright, which fetches none; for tests and pictures."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Commands of the browser, the first on the PATH is taken."""
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
INSTALL = "needs a browser: apt-get install -y chromium"


def command() -> str | None:
    """Path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Any]:
    """The browser, as long as the block lasts: Playwright's event loop runs until then. Raises SystemExit without one.
    """
    from playwright.sync_api import sync_playwright
    path = command()
    if path is None:
        raise SystemExit(INSTALL)
    as_root = ("--no-sandbox",) if os.getuid() == 0 else ()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *as_root])
        yield chromium
        chromium.close()

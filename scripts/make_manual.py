#!/usr/bin/env python3
"""Build the manual, a site of static pages with a search that works from the disk, from docs/.

    scripts/make_manual.py build/manual         then open build/manual/index.html

Each warning of Sphinx, such as a link without a target, is an error. The libraries are the extra `docs`.
"""

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[1]
STRICT = "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"


def make(out: Path) -> int:
    """Build the site in a folder; the exit status of Sphinx."""
    return build_main([*STRICT, "--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(out / ".doctrees"), str(ROOT),
                       str(out)])


def main() -> int:
    """Build the site and say where it is; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the site, created if missing")
    out = parser.parse_args().out
    status = make(out)
    if not status:
        print(f"written: {out / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())

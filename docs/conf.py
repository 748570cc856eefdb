"""Sphinx's settings of the manual, which `scripts/make_manual.py` builds from the root of the checkout.

Pages are the Markdown files of docs/ and the texts beside it that they link to, at the same relative addresses as in
the checkout.
"""

import re

from sphinx.search.en import SearchEnglish

from simgrid_broker import __version__

project = "simgrid_broker"
author = "the simgrid_broker developers"
copyright = f"{author}, Apache License 2.0"
release = version = __version__

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**", "scenarios/README.md", "examples/README.md", "CHANGELOG.md", "SECURITY.md"]
exclude_patterns = [".*", "build", "dist", "results", "tests", "simgrid_broker", "scripts", "examples/*/**"]
nitpicky = True

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = f"simgrid_broker {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to_the_manual.html"}
templates_path = ["templates"]
html_copy_source = False
html_use_index = False              # pages of Markdown enter nothing into it: the search finds names
html_show_search_summary = False    # excerpts are fetched, which browsers refuse for pages from the disk

MERMAID = re.compile(r"^```mermaid\n.*?^```\n", re.MULTILINE | re.DOTALL)
"""Diagrams that the pages of a repository draw; the site, which loads no library for it, has the tables below them."""

OTHER_RULES = re.compile(r"(?<=^## Other rules\n).*?(?=^## )", re.MULTILINE | re.DOTALL)
FIRST_CELLS = re.compile(r"^(\|(?: (?:[^|\\\n]|\\.)*\|){3}).*$", re.MULTILINE)
"""Rule, editions and source of a row; the rule book has what else the page has of a rule, a line for each."""


class NamesAndWords(SearchEnglish):
    """English in which each part of a name between underscores is found as a word."""

    def split(self, input):
        """Words of a text, and the parts of those with underscores."""
        words = super().split(input)
        return words + [part for word in words if "_" in word for part in word.split("_") if part]


def readable(text):
    """A page without diagrams, and with no more columns of the table of other rules than fit beside one another."""
    return OTHER_RULES.sub(lambda rows: FIRST_CELLS.sub(r"\1", rows[0]), MERMAID.sub("", text))


def setup(app):
    """Make the pages readable as a site, and index parts of names."""
    app.add_search_language(NamesAndWords)
    app.connect("source-read", lambda app, name, source: source.append(readable(source.pop())))

"""Sections as one HTML page without external files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from urllib.parse import quote

import numpy as np
import pandas as pd

from simgrid_broker.report.blocks import Block, Lines, Link, Note, Plot, Row, Section, TableBlock, Tiles, address
from simgrid_broker.report.script import LIBRARY, POLICY, SCRIPT
from simgrid_broker.report.words import COLUMN_LABELS, number, numbers

NUMBER = ' class="n"'
LONG = 32
"""Number of characters above which a text may be broken into lines."""
NOT_DRAWN = '<p class="note">{}: not drawn, because this report was written without plots.</p>\n'
STYLE = """
:root { color-scheme: light dark; --ink: #222222; --soft: #555; --faint: #6f6f6f; --paper: #ffffff; --panel: #f5f7f9;
  --grid: #e4e4e4; --pale: #e8eef2; --shade: #dddddd; --rule: #888; --link: #0060a0; --accent: #0072B2;
  --warn: #fdf3e1; --shadow: #0002; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e6e9; --soft: #b4bac1; --faint: #9aa1a8;
  --paper: #16191d; --panel: #20252b; --grid: #333a42; --pale: #2b333b; --shade: #3a424b; --rule: #707880;
  --link: #7db9f5; --accent: #4ba3dc; --warn: #3a2f1b; --shadow: #0008; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: var(--ink);
  background: var(--paper); max-width: 1080px; margin: 0 auto; padding: 24px 28px 60px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 44px 0 10px; padding-top: 10px; border-top: 2px solid var(--accent); }
h3 { font-size: 15.5px; margin: 26px 0 6px; overflow-wrap: anywhere; }
p { margin: 6px 0; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.lead { color: var(--soft); margin-bottom: 8px; }
nav { background: var(--panel); padding: 6px 14px; margin: 10px 0; border-radius: 4px; font-size: 13px; }
@media screen {
  #answers h2 { margin-top: 14px; padding-top: 6px; } #answers h3 { margin: 14px 0 2px; font-size: 14.5px; }
  #answers .tiles { margin: 10px 0; gap: 8px; } #answers .tile { padding: 4px 10px; }
  #answers .tile b { font-size: 18px; }
  #answers .warning { padding: 5px 12px; font-size: 13.5px; } #answers .reading { max-width: none; font-size: 12.5px; }
  #answers table { font-size: 12.6px; margin: 2px 0; line-height: 1.4; } #answers .row { gap: 0 20px; }
  #answers td, #answers th { padding-right: 8px; max-width: none; } #answers th { min-width: 0; } }
nav ol { margin: 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 2px 20px; }
figure { margin: 4px 0 18px; break-inside: avoid; }
.plot { width: 100%; height: auto; display: block; font-family: "DejaVu Sans", Verdana, Arial, sans-serif; }
.plot text:not([fill]) { fill: var(--ink); }
.plot [data-n] text { cursor: pointer; }
.zoomed .moving path { vector-effect: non-scaling-stroke; }
.plot .off path, .plot .off use { visibility: hidden; }
.plot text.off, .plot .off text { opacity: .5; }
.zoomed [data-scale] { visibility: hidden; }
.picture { overflow-x: auto; position: relative; }
.chart { position: absolute; }
.chart * { position: absolute; }
.chart .u-wrap { left: 0; top: 0; }
.chart canvas { width: 100%; height: 100%; visibility: hidden; }
.zoomed .chart canvas { visibility: visible; }
.u-over { cursor: crosshair; }
.u-cursor-x { height: 100%; border-right: 1px solid var(--ink); pointer-events: none; }
.u-select { background: var(--accent); opacity: .2; pointer-events: none; }
.u-off, body:not(.zoomed) .whole { display: none; }
.whole { position: fixed; right: 14px; bottom: 14px; z-index: 3; font: inherit; padding: 5px 12px; border-radius: 4px;
  color: var(--paper); background: var(--accent); border: 0; cursor: pointer; }
.tip { position: fixed; z-index: 2; background: var(--panel); border: 1px solid var(--rule); border-radius: 4px;
  padding: 5px 9px; pointer-events: none; max-width: 320px; }
.tip:not(.on) { display: none; }
.tip table { font-size: 12.5px; margin: 0; line-height: 1.35; }
.tip th, .tip td { border: 0; padding: 0 0 0 6px; position: static; background: none; box-shadow: none; max-width: none;
  text-align: left; font-weight: 400; font-variant-numeric: tabular-nums; }
.tip .u-marker { width: 9px; height: 9px; border: 0 !important; display: inline-block; margin-right: 5px; }
.tip th div { display: inline; }
.filter { font: inherit; font-size: 13px; padding: 3px 7px; margin: 4px 0; width: 220px; max-width: 100%;
  color: inherit; background: var(--panel); border: 1px solid var(--grid); border-radius: 4px; }
th[tabindex] { cursor: pointer; }
th[aria-sort=ascending]::after { content: " \\25B4"; } th[aria-sort=descending]::after { content: " \\25BE"; }
:target { outline: 2px solid var(--accent); outline-offset: 2px; }
figcaption, .reading { color: var(--soft); font-size: 13.5px; max-width: 860px; }
pre { background: var(--panel); padding: 8px 12px; font-size: 12.5px; white-space: pre-wrap; overflow-wrap: anywhere; }
.note { color: var(--soft); font-style: italic; }
.warning { background: var(--warn); border-left: 4px solid #E69F00; padding: 8px 14px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 16px 0; }
.tile { background: var(--panel); border-radius: 4px; padding: 10px 14px; break-inside: avoid; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { display: block; font-size: 12.5px; }
.tile small { display: block; font-size: 11.5px; color: var(--soft); line-height: 1.3; }
.scroll { overflow: auto; max-height: 720px; background: linear-gradient(to right, var(--paper) 40%, transparent) local,
  linear-gradient(to left, var(--paper) 40%, transparent) local,
  linear-gradient(to right, var(--shadow), transparent 14px), linear-gradient(to left, var(--shadow), transparent 14px);
  }
table { border-collapse: collapse; font-size: 13.5px; margin: 6px 0 4px; }
th, td { padding: 3px 12px 3px 4px; text-align: left; vertical-align: bottom; border-bottom: 1px solid var(--grid); }
th { position: sticky; top: 0; background: var(--paper); box-shadow: inset 0 -1.5px var(--rule);
  font-weight: 600; min-width: 3.4em; max-width: 130px; line-height: 1.25;
  overflow-wrap: break-word; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; padding: 3px 8px; }
td { white-space: nowrap; }
td.w { white-space: normal; overflow-wrap: anywhere; min-width: 16em; }
.row { display: flex; flex-wrap: wrap; gap: 0 36px; align-items: flex-start; }
.row > div { min-width: 0; max-width: 100%; }
@media screen and (max-width: 860px) { .plot { width: 860px; } }
@media (max-width: 640px) { body { padding: 16px 14px 40px; } }
footer { margin-top: 50px; color: var(--faint); font-size: 12.5px; border-top: 1px solid var(--grid);
  padding-top: 8px; }
@page { size: A4 landscape; margin: 8mm; }
@media print { body { max-width: none; padding: 0; font-size: 7.5pt; line-height: 1.12; columns: 2; column-gap: 7mm; }
  nav, .filter, .larger { display: none; }
  h1, .lead { column-span: all; } h1 { font-size: 14pt; }
  h2 { font-size: 10.5pt; margin: 6pt 0 1pt; padding-top: 1pt; }
  h3 { font-size: 8pt; margin: 4pt 0 0; } h2, h3 { break-after: avoid; }
  p { margin: 1pt 0; } .warning { padding: 1pt 6pt; }
  figure { margin: 0 0 2pt; } .plot { max-height: 51mm; } figcaption, .reading, table { font-size: 6.2pt; }
  th, td { padding: 0 2pt 0 1pt; min-width: 0; } td.n, th.n { padding: 0 1.5pt; }
  th { position: static; box-shadow: none; font-size: 5pt; }
  td, td.w { white-space: normal; min-width: 0; } tr { break-inside: avoid; }
  .scroll { overflow: visible; max-height: none; background: none; }
  tbody tr:nth-child(n+7) { display: none; }
  .scroll:has(tr:nth-child(7))::after { content: "The first 6 rows; the page on a screen has all."; font-size: 6.5pt; }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 3pt; margin: 3pt 0; } .tile { padding: 2pt 5pt; }
  .tile b { font-size: 10pt; } .tile span, .tile small { font-size: 6.5pt; }
  .row > div { flex: 1; } .row { gap: 0 6pt; flex-wrap: nowrap; }
  footer { margin-top: 4pt; font-size: 6.5pt; } }
"""


def page(title: str, lead: str, sections: Iterable[Section], pictures: Mapping[str, str], footer: str) -> str:
    """The whole page; pictures: SVGs by the names of their plots, for those that are shown."""
    contents, body = "", ""
    for section in sections:
        contents += f'<li><a href="#{section.name}">{escape(section.title)}</a></li>'
        blocks = "".join(_block(block, pictures) for block in section.blocks)
        body += f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{blocks}</section>\n'
    body = _reachable(body)
    library = f"<script>{LIBRARY}</script>\n" if "data-axes" in body else ""
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
            f'<p class="lead">{escape(lead)}</p>\n<nav><ol>{contents}</ol></nav>\n{body}'
            f"<footer>{escape(footer)}</footer>\n{library}<script>{SCRIPT}</script>\n</body>\n</html>\n")


def _reachable(body: str) -> str:
    """The sections with links to parts that the page has; others are texts: tables show their largest rows only."""
    places = set(re.findall(r' id="([^"]*)"', body))
    return re.sub(r'<a href="#([^"]*)">([^<]*)</a>', lambda link: link[0] if link[1] in places else link[2], body)


def _block(block: Block, pictures: Mapping[str, str]) -> str:
    if isinstance(block, Plot):
        return _plot(block, pictures[block.name]) if block.name in pictures else NOT_DRAWN.format(escape(block.title))
    if isinstance(block, TableBlock):
        return _table_block(block)
    if isinstance(block, Tiles):
        tiles = "".join(f'<div class="tile"><span>{escape(label)}</span><b>{escape(value)}</b>'
                        f"<small>{escape(meaning)}</small></div>" for label, value, meaning in block.tiles)
        return f'<div class="tiles">{tiles}</div>\n'
    if isinstance(block, Row):
        return f'<div class="row">{"".join(f"<div>{_table_block(table)}</div>" for table in block.tables)}</div>\n'
    if isinstance(block, Lines):
        return (f"<h3>{escape(block.title)}</h3>\n<pre>{escape(block.text)}</pre>\n"
                f'<p class="reading">{_prose(block.reading)}</p>\n')
    assert isinstance(block, Note)
    return f'<p class="{"warning" if block.strong else "note"}">{_prose(block.text)}</p>\n'


def _prose(text: str) -> str:
    """A text with commands between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _plot(plot: Plot, picture: str) -> str:
    return (f'<h3>{escape(plot.title)}</h3>\n<figure><div class="picture">{picture}</div><figcaption>'
            f"{_prose(plot.reading)}</figcaption></figure>\n")


def _table_block(block: TableBlock) -> str:
    title = f"<h3>{escape(block.title)}</h3>\n" if block.title else ""
    reading = f'<p class="reading">{_prose(block.reading)}</p>\n' if block.reading else ""
    table = table_html(block.frame, block.indent, block.mixed, block.anchor)
    return f'{title}<div class="scroll">{table}</div>\n{reading}'


BREAKS = re.compile(r"(?<=[._])(?=\w)")
"""Places at which a key may go on in the next line of the head of a column."""


def table_html(frame: pd.DataFrame, indent: Sequence[int] = (), mixed: bool = False, anchor: str = "") -> str:
    """HTML of a table with right-aligned numbers; for `indent`, `mixed` and `anchor` see `blocks.TableBlock`."""
    right = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    columns = [_texts(frame[name], is_number, mixed) for name, is_number in zip(frame.columns, right, strict=True)]
    head = "".join(_cell("th", COLUMN_LABELS.get(name, str(name)), is_number)
                   for name, is_number in zip(frame.columns, right, strict=True))
    rows, places = [], set[str]()
    for k, texts in enumerate(zip(*columns, strict=True)):
        cells = [_cell("td", text, is_number) for text, is_number in zip(texts, right, strict=True)]
        if len(indent):
            cells[0] = cells[0].replace("<td", f'<td style="padding-left:{4 + 18 * indent[k]}px"', 1)
        rows.append(f"<tr{_address(anchor, texts[0], places)}>{''.join(cells)}</tr>\n")
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table>\n"


def _address(kind: str, name: str | Link, places: set[str]) -> str:
    """The address of a row, that of a name only at its first; places: those given."""
    place = address(kind, name)
    if not kind or place in places:
        return ""
    places.add(place)
    return f' id="{escape(place)}"'


def _texts(column: pd.Series, is_number: bool, mixed: bool) -> list[str | Link]:
    if not is_number:
        return [value if isinstance(value, Link) else str(value) for value in column]
    values = column.to_numpy(float, na_value=np.nan)
    return [number(value) for value in values] if mixed else list(numbers(values))


def _cell(tag: str, text: str | Link, is_number: bool) -> str:
    if isinstance(text, Link):
        kind = ' class="w"' if len(text.text) > LONG else ""
        target = text.path if text.path.startswith("#") else quote(text.path) + text.query
        return f'<{tag}{kind}><a href="{escape(target)}">{escape(text.text)}</a></{tag}>'
    kind = NUMBER if is_number else ' class="w"' if tag == "td" and len(text) > LONG else ""
    written = BREAKS.sub("<wbr>", escape(text)) if tag == "th" else escape(text)
    return f"<{tag}{kind}>{written}</{tag}>"

"""Pages, plots and terminal tables: structure and numbers, not looks."""

import base64
import hashlib
import html
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from fake_run import LEAVES, VOCABULARIES, manifest, write_fake_run
from hypothesis import given
from hypothesis import strategies as st

import simgrid_broker.report
import simgrid_broker.report.page as page_module
from simgrid_broker import metrics
from simgrid_broker.errors import OutputError
from simgrid_broker.metrics import share_compliance
from simgrid_broker.records import RunWriter, new_run_folder, read_run, write_manifest
from simgrid_broker.report import sections, terminal_summary, write_comparison, write_report
from simgrid_broker.report.answers import answers
from simgrid_broker.report.blocks import Link, Mark, Note, Row, Section, TableBlock, address
from simgrid_broker.report.comparison import setting_differences
from simgrid_broker.report.context import context, incident_table
from simgrid_broker.report.drawing import layout
from simgrid_broker.report.drawing.layout import apart, sheet, spread
from simgrid_broker.report.figures.colours import share_colours
from simgrid_broker.report.figures.series import layers
from simgrid_broker.report.page import table_html
from simgrid_broker.report.settings import gdpconfig_lines
from simgrid_broker.report.words import number, numbers
from simgrid_broker.scenario.importers.operators import read_gdpconfig

QUICK = {"n_jobs": 1500, "sample_s": 3600.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(write_fake_run(tmp_path_factory.mktemp("report"), **QUICK))


@pytest.fixture(scope="module")
def report(run):
    return write_report(run)


class Page(HTMLParser):
    """Checks that tags close in order, and collects what a browser would fetch."""

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.ids, self.inner_links, self.images = [], [], set(), [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        self.images += tag == "svg"
        for name in ("href", "src"):
            if given.get(name, "").startswith("#"):
                self.inner_links.append(given[name][1:])
            elif name in given and not given[name].startswith("data:"):
                self.fetched.append(given[name])
        assert tag not in ("link", "iframe") and not (tag == "script" and given)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_self_contained(report, run):
    page = Page(report.read_text(encoding="utf-8"))
    assert page.fetched == []
    assert set(page.inner_links) <= page.ids
    assert page.inner_links[:12] == ["answers", "shares", "waiting", "users", "brokerage", "cores", "jobs",
                                     "data", "failures", "attempts", "tasks", "configuration"]
    assert page.images == len(list((run.folder / "plots").glob("*.svg"))) == 25


def test_the_answers_say_what_was_missed_since_when_and_lead_to_it(run, monkeypatch):
    cause = metrics.Cause("throttler", "queued > threshold", ("gdpconfig.THROTTLE_THRESHOLD",), 36.0, 31.0, 9.0, 4)
    share = LEAVES[0]
    short = metrics.Why(share, 100.0, 80.0, 100.0, 20.0, (), (cause,), 10, 6, 7200.0)
    enough = metrics.Why(LEAVES[1], 100.0, 20.0, 100.0, 20.0, (), (), 10, 0)
    monkeypatch.setattr(metrics, "why", lambda run: (enough, short))
    text = page_module.page("t", "l", [section(context(run)) for section in (
        answers, sections.shares, sections.brokerage)], {}, "f")
    row, = re.findall(f'<tr id="{address("short", share)}">.*?</tr>', text)
    cells = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td.*?</td>", row)]
    assert cells[:6] == [share, "20", "80", "60", "2 h (6 of 10 h)", "throttler: queued > threshold"]
    assert cells[6].startswith("gdpconfig.THROTTLE_THRESHOLD")
    assert f'href="#{address("share", share)}"' in row and f'id="{address("share", share)}"' in text
    assert 'href="#brokerage"' in row and address("short", LEAVES[1]) not in text
    monkeypatch.setattr(metrics, "why", lambda run: (enough,))
    assert any("Every share got" in block.text for block in answers(context(run)).blocks if isinstance(block, Note))


def test_waits_for_data_are_of_transfers_that_ended_in_the_window(run):
    table = metrics.waits_for_data(run).set_index(["data", "metric"]).value
    moved, window = run.table("transfers"), metrics.window_of(run)
    moved = moved[(moved.kind == "input") & window.holds(moved.ended_s)]
    assert table["input", "took_p50"] == pytest.approx((moved.ended_s - moved.submitted_s).median() / 3600)
    last = run.table("queues").pipe(lambda rows: rows[rows.time_s == rows.time_s.max()])
    assert table.get(("output", "still_waiting"), 0) == last.transferring.sum()


def test_jobs_wait_for_transfers_and_requests_for_tapes(run, monkeypatch):
    asked = pd.DataFrame({"tape": ["TAPE-A", "TAPE-A"], "status": ["done", "waiting"], "requested_s": [0.0, 0.0],
                          "finished_s": [run.end_s, np.nan]})
    read = run.table
    monkeypatch.setattr(run, "table", lambda name, columns=None: asked if name == "staging" else read(name, columns))
    rows = metrics.waits_for_data(run).set_index(["data", "metric"])
    units = rows.xs("still_waiting", level="metric").unit
    assert units["input"] == "jobs" and units["TAPE-A"] == "requests"
    assert rows.value["TAPE-A", "still_waiting"] == 1 and rows.value["TAPE-A", "took_p50"] == run.end_s / 3600


def test_the_answers_say_what_was_waited_for(run, monkeypatch):
    waits = pd.DataFrame([(data, metric, value, "", "") for data, values in {
        "input": (0.5, 2.0, 3.0), "output": (np.nan, np.nan, 7.0), "TAPE-A": (4.0, 5.0, 0.0), "TAPE-B": (9.0, 9.5, 2.0),
        }.items() for metric, value in zip(("took_p50", "took_p95", "still_waiting"), values, strict=True)],
        columns=["data", "metric", "value", "unit", "window"])
    monkeypatch.setattr(metrics, "waits_for_data", lambda run: waits)
    table, = (table.frame for block in answers(context(run)).blocks if isinstance(block, Row)
              for table in block.tables if table.title == "Waited longest")
    rows = table.set_index("Waited for")[["Median, h", "Still waiting"]]
    assert rows.loc["transfers to the queue"].tolist() == [0.5, 3] and rows.loc["tape TAPE-B"].tolist() == [9, 2]
    assert np.isnan(rows.loc["transfers to the nucleus", "Median, h"]) and "tape TAPE-A" not in rows.index
    assert "free slots" in rows.index


def test_the_answers_say_what_changed_against_a_base(tmp_path, run):
    key = "jobbroker.NQUEUED_SAT_CAP"
    base = read_run(write_fake_run(tmp_path, wait_factor=2.0, gdpconfig={
        key: {"value": 500, "origin": "command line"}}, **QUICK))
    tables = {table.title.split(" ")[0]: table.frame.set_index(table.frame.columns[0])
              for block in answers(context(run, base)).blocks if isinstance(block, Row) for table in block.tables}
    assert tables["Settings"].loc[f"gdpconfig.{key}"].tolist() == ["500", "300"]
    waited = tables["Changed"].loc["Waiting time with jobs still waiting, median"]
    assert waited["Base"] > waited["This run"] and waited["Change"] == waited["This run"] - waited["Base"]


def test_a_link_leads_to_a_part_of_the_page_or_is_a_text():
    table = pd.DataFrame({"queue": [Link("A", "#queue-A"), Link("B", "#queue-B")]})
    text = page_module.page("t", "l", [Section("s", "S", (TableBlock("", table, anchor="queue"), TableBlock(
        "", pd.DataFrame({"queue": [Link("A", "#queue-A"), Link("C", "#queue-C")]}))))], {}, "f")
    assert text.count('href="#queue-A"') == 2 and 'href="#queue-C"' not in text and "<td>C</td>" in text


def test_only_its_own_script_runs_and_names_are_texts(tmp_path):
    evil = "<script>alert(1)</script>\"'&$x$"
    tree = manifest(1.0, 1)["share_tree"]
    names = [evil if name == "Production" else name for name in tree["names"]]
    text = write_report(read_run(write_fake_run(tmp_path, share_tree=tree | {"names": names}, **QUICK))).read_text()
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
               for script in re.findall(r"<script>(.*?)</script>", text, re.DOTALL)]
    assert f"script-src &#x27;sha256-{digests[0]}&#x27; &#x27;sha256-{digests[1]}&#x27;\"" in text
    assert len(digests) == 2 and "default-src &#x27;none&#x27;" in text
    assert "unsafe-eval" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    Page(text)


def test_a_page_is_small_light_and_dark(report):
    text = report.read_text(encoding="utf-8")
    assert len(text) < 430_000 and "base64" not in text.replace("sha256-", "")
    assert "prefers-color-scheme: dark" in text and "fill=\"#222222\"" not in text and "var(--ink)" in text


def test_every_column_of_its_tables_has_a_name_in_words(report):
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", report.read_text(encoding="utf-8").replace("<wbr>", ""))
    assert heads and [head for head in heads if re.fullmatch("[a-z][a-z0-9_]*", head)] == []


def test_a_key_in_the_head_of_a_column_breaks_between_its_words():
    head, _, body = table_html(pd.DataFrame({"gdpconfig.core.NW_A": ["x.y_z"], "<b>": [1]})).partition("</thead>")
    assert "<th>gdpconfig.<wbr>core.<wbr>NW_<wbr>A</th>" in head and "&lt;b&gt;</th>" in head and "<wbr>" not in body


def test_every_plot_has_its_table_next_to_it(report, run):
    pictures = sorted((run.folder / "plots").glob("*.svg"))
    for picture in pictures:
        table = pd.read_csv(picture.with_suffix(".csv"))
        assert {"metric", "value", "unit", "window"} <= set(table.columns)
        assert len(table)
        assert f'id="plot-{picture.stem}"' in report.read_text(encoding="utf-8")


def test_plots_are_png_and_pdf_only_on_request(tmp_path, run, monkeypatch):
    monkeypatch.setattr(sections, "SECTIONS", (sections.failures,))
    written = {}
    for name, formats in {"plain": (), "asked": "png,pdf", "again": ["png", "pdf"]}.items():
        shutil.copytree(run.folder, tmp_path / name, ignore=shutil.ignore_patterns("plots"))
        write_report(tmp_path / name, formats=formats)
        written[name] = {path.suffix: path.read_bytes() for path in (tmp_path / name / "plots").iterdir()}
    assert set(written["plain"]) == {".svg", ".csv"} and set(written["asked"]) == {".svg", ".csv", ".png", ".pdf"}
    assert written["asked"] == written["again"]
    png, pdf = written["asked"][".png"], written["asked"][".pdf"]
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == 10 * layout.RESOLUTION
    assert pdf.startswith(b"%PDF") and b"/Subtype /Image" not in pdf and b"/CIDFontType2" in pdf, "lines, and letters"
    with pytest.raises(ValueError, match="'pfd' is not png or pdf.*did you mean 'pdf'"):
        write_report(run, formats="png,pfd")


def test_texts_of_tables_are_kept_as_pythons_while_a_page_is_written(run, monkeypatch):
    name, kept = "mode.string_storage", []

    def section(view):
        kept.append(pd.get_option(name))
        return Section("only", "Only", ())
    before = pd.get_option(name)
    monkeypatch.setattr(sections, "SECTIONS", (section,))
    write_report(run, plots=False)
    assert (kept, pd.get_option(name)) == (["python"], before)


def test_the_same_runs_give_the_same_bytes_and_leave_matplotlib_as_it_was(tmp_path, run):
    before, backend = dict(matplotlib.rcParams), matplotlib.get_backend()
    first, second = (write_comparison(run, run, tmp_path / name).read_bytes() for name in "ab")
    assert first == second
    assert dict(matplotlib.rcParams) == before
    assert matplotlib.get_backend() == backend
    sources = Path(simgrid_broker.report.__file__).parent.glob("*.py")
    assert not [path.name for path in sources if "pyplot" in path.read_text()]


def test_the_terminal_summary_fits(run):
    text = terminal_summary(run)
    assert max(map(len, text.splitlines())) <= 100
    for word in ("finished", "alive", "occupancy", "median", *LEAVES):
        assert word in text


def test_a_long_share_name_fits_the_terminal(tmp_path):
    tree = manifest(1.0, 1)["share_tree"]
    names = [f"{name:_<80}" if name == "Production" else name for name in tree["names"]]
    text = terminal_summary(read_run(write_fake_run(tmp_path, share_tree=tree | {"names": names}, **QUICK)))
    assert max(map(len, text.splitlines())) <= 100
    assert "  Production____" not in text
    assert "Production_______…" in text


@pytest.fixture
def only_drawn(monkeypatch):
    """Draw plots without rendering, which takes most of the time."""
    def draw_only(draw, table, size, panels=(1, 1), name="", about=""):
        draw(table, sheet(size, panels)[1])
        return "<svg></svg>"
    monkeypatch.setattr(layout, "svg", draw_only)


def killed(root):
    return write_fake_run(root, close=False, **QUICK)


def killed_at_once(root):
    folder = new_run_folder(root, "fake day", 1)
    write_manifest(folder, manifest(86400.0, 1, "running"))
    RunWriter(folder, VOCABULARIES)
    return folder


@pytest.mark.parametrize(("make", "warning"), [
    pytest.param(killed, "has not ended or was killed", id="killed"),
    pytest.param(killed_at_once, "up to 0 s of 1 d", id="killed before anything was written"),
    pytest.param(lambda root: write_fake_run(root, n_jobs=0, sample_s=3600.0), "No job ended", id="no job at all"),
    pytest.param(lambda root: write_fake_run(root, n_jobs=50, duration_s=600.0, sample_s=600.0),
                 "there is only one sample", id="one sample"),
    pytest.param(lambda root: write_fake_run(root, status="interrupted", simulated_s=7200.0, **QUICK),
                 "The run has no data after its warm-up of 4 h", id="interrupted within its warm-up"),
    pytest.param(lambda root: write_fake_run(root, status="failed", **QUICK), "its figures may be wrong", id="failed"),
])
def test_a_run_that_failed_carries_a_warning(tmp_path, run, make, warning, only_drawn):
    poor = read_run(make(tmp_path))
    text = write_report(poor).read_text(encoding="utf-8")
    Page(text)
    assert warning in text
    assert "nan" not in text
    assert max(map(len, terminal_summary(poor).splitlines())) <= 100
    if poor.end_s == 0:
        Page(write_comparison(run, poor, tmp_path / "compared").read_text(encoding="utf-8"))


def test_a_damaged_part_is_named_in_the_report(tmp_path):
    folder = killed(tmp_path)
    sorted((folder / "jobs.parquet").iterdir())[-1].write_bytes(b"")
    assert "cannot be read and was skipped" in write_report(read_run(folder), plots=False).read_text(encoding="utf-8")


def test_runs_with_different_share_trees_are_compared_by_the_names_of_shares(tmp_path, run, only_drawn):
    tree = dict(names=["root", *LEAVES], parent=[-1] + [0] * len(LEAVES), value=[100.0] + [25.0] * len(LEAVES),
                leaves=list(range(1, len(LEAVES) + 1)))
    flat = read_run(write_fake_run(tmp_path, share_tree=tree, **QUICK))
    for name, pair in {"to flat": (run, flat), "from flat": (flat, run)}.items():
        Page(write_comparison(*pair, tmp_path / name).read_text(encoding="utf-8"))
        drawn = pd.read_csv(tmp_path / name / "plots" / "shares.csv").set_index("share")
        assert sorted(drawn.index) == sorted(LEAVES)
        assert drawn.base.tolist() == pytest.approx(drawn.changed.tolist())    # the same jobs ran
        for column, one in (("base_target", pair[0]), ("target", pair[1])):
            assert drawn[column].tolist() == pytest.approx(metrics_of(one, "target")[drawn.index].tolist())


def metrics_of(run, metric):
    """One figure of compliance by share."""
    table = share_compliance(run)
    return table[table.metric == metric].set_index("share").value


def test_a_comparison_shows_what_was_changed(tmp_path, run, only_drawn):
    key = "jobbroker.NQUEUED_SAT_CAP"
    other = read_run(write_fake_run(tmp_path, seed=2, wait_factor=2.0, gdpconfig={
        key: {"value": 500, "origin": "command line"}}, **QUICK))
    settings = setting_differences(run, other).set_index("key")
    assert settings.loc[f"gdpconfig.{key}"].tolist() == ["300", "500"]
    assert settings.loc["seed"].tolist() == ["1", "2"]
    text = write_comparison(run, other, tmp_path / "compared").read_text(encoding="utf-8")
    page = Page(text)
    rows = tmp_path / "rows.json"
    rows.write_text(f"[{html.unescape(re.search('<pre>(.*?)</pre>', text, re.DOTALL).group(1))}]")
    assert read_gdpconfig(rows)[0] == {"gdpconfig": {key: 500}}
    assert page.fetched == []
    assert page.images == 8
    assert "different seeds" in text and "different scenarios" not in text


def test_a_key_of_gdpconfig_is_a_row_for_each_component_that_has_it():
    for setting, value, components in (("THROTTLE_THRESHOLD", 3, ["prod_job_throttler", "anal_job_throttler"]),
                                       ("anal_job_throttler.THROTTLE_THRESHOLD", 3, ["anal_job_throttler"]),
                                       ("jobbroker.NQUEUELIMITSITE_MC.16", 9, ["jobbroker"]), ("NO_KEY", 1, [])):
        lines = gdpconfig_lines({f"gdpconfig.{setting}": value, "shares.Analysis.value": 2}, "point p0001")
        rows = [json.loads(row) for block in lines for row in block.text.splitlines()]
        assert [row["component"] for row in rows] == components
        assert {row["value"] for row in rows} <= {value}
        assert [block.title for block in lines] == ["Changed keys of gdpconfig: point p0001"] * bool(components)


def test_runs_of_different_scenarios_are_said_to_be(tmp_path, run, only_drawn):
    other = read_run(write_fake_run(tmp_path, **QUICK))
    other.manifest["scenario"]["name"] = "another"
    text = write_comparison(run, other, tmp_path / "compared").read_text(encoding="utf-8")
    assert "The runs are of different scenarios" in text


def test_a_report_that_cannot_be_written_is_an_output_error(tmp_path):
    folder = write_fake_run(tmp_path, n_jobs=10, sample_s=86400.0)
    (folder / "plots").write_text("in the way")
    with pytest.raises(OutputError, match="plots"):
        write_report(read_run(folder))


@pytest.mark.parametrize(("value", "text"), [
    pytest.param(0, "0", id="zero"), pytest.param(1234567, "1,234,567", id="whole"),
    pytest.param(1234.5, "1,234", id="large"), pytest.param(12.345, "12.3", id="three digits"),
    pytest.param(0.0123, "0.0123", id="small"), pytest.param(0.00012, "1.2e−04", id="tiny"),
    pytest.param(-2.5, "−2.50", id="negative"), pytest.param(np.nan, "–", id="unknown"),
    pytest.param(np.inf, "∞", id="unlimited"),
])
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("values", "texts"), [
    pytest.param([1, 20, 3000], ["1", "20", "3,000"], id="whole numbers stay whole"),
    pytest.param([75.72, 0.1], ["75.7", "0.1"], id="the largest decides"),
    pytest.param([0.5, 0.25, np.nan], ["0.500", "0.250", "–"], id="at most three decimals"),
    pytest.param([12345.6], ["12,345.6"], id="at least one decimal"), pytest.param([], [], id="none"),
])
def test_numbers_of_a_column_have_the_same_decimals(values, texts):
    assert numbers(values) == texts


def test_tables_escape_and_align():
    html = table_html(pd.DataFrame({"share": ["<b>", "C"], "jobs": [1.0, 2000.0]}), indent=(0, 2))
    assert "&lt;b&gt;" in html
    assert '<td class="n">2,000</td>' in html
    assert '<td style="padding-left:40px">C</td>' in html


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0, 0.04))
def test_labels_are_spread_apart_and_stay_inside(wanted, gap):
    wanted = np.sort(wanted)
    placed = spread(wanted, min(gap, 1 / max(len(wanted), 1)))
    assert len(placed) == len(wanted)
    assert (np.diff(placed) >= min(gap, 1 / max(len(wanted), 1)) - 1e-9).all()
    assert ((placed >= -1e-9) & (placed <= 1 + 1e-9)).all()


def test_labels_with_space_keep_their_heights():
    np.testing.assert_allclose(spread([0.1, 0.5, 0.9], 0.05), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(spread([0.5, 0.5], 0.1), [0.45, 0.55])


@pytest.mark.parametrize("groups", [
    pytest.param({"Production": [f"P{k}" for k in range(14)], "Analysis": ["A"], "Test": ["T"]}, id="as in ATLAS"),
    pytest.param({f"G{k}": [f"L{k}"] for k in range(12)}, id="flat"),
    pytest.param({"all": ["one"]}, id="a single share"),
    pytest.param({"P": [f"P{k}" for k in range(30)], "Q": [f"Q{k}" for k in range(10)]}, id="forty shares"),
])
def test_every_share_has_its_own_colour(groups):
    colours = share_colours(groups)
    leaves = [leaf for group in groups.values() for leaf in group]
    assert list(colours) == leaves
    assert len(set(colours.values())) == len(leaves)


def test_small_layers_are_combined():
    table = pd.DataFrame({"time_s": np.repeat([0.0, 1.0], 5), "site": list("abcde") * 2, "value": [1, 5, 4, 3, 2] * 2})
    values = layers(table, "site", most=3)
    assert values.columns.tolist() == ["b", "c", "others (3)"]
    assert values["others (3)"].tolist() == [6, 6]
    assert layers(table, "site", order=list("edcba")).columns.tolist() == list("edcba")


def test_incidents_have_their_end_and_the_values_before_and_after():
    said = dict(incidents=[
        dict(at=86400 * 1.125, what="gdpconfig", key="NQUEUELIMIT_MC", value=16), dict(
            at=43200, what="site_outage", site="HERE", until=100_800),
        dict(at=3600, what="gdpconfig", key="prod_job_throttler.NQUEUELIMIT_MC", value=50),
        dict(at=100_000, what="share_target", share="MC", value=30), dict(
            at=120_000, what="queue_status", queue="Q", status="offline"),
        dict(at=130_000, what="network_capacity", site="HERE", factor=0.5)],
        shares=[dict(name="All", value=100, children=[dict(name="MC", value=20)])],
        grid=dict(queues=dict(Q=dict(status="online"))))
    run = SimpleNamespace(manifest=dict(scenario=said, gdpconfig={
        "prod_job_throttler.NQUEUELIMIT_MC": dict(value=100)}, share_tree=dict(names=[], value=[])))
    assert incident_table(run).to_numpy().tolist() == [
        ["1 h", "gdpconfig prod_job_throttler.NQUEUELIMIT_MC: 100 → 50"], ["12 h to 1 d 4 h", "site outage HERE"],
        ["1 d 3 h", "gdpconfig NQUEUELIMIT_MC: 50 → 16"], ["1 d 3.783 h", "share target MC: 20 → 30"],
        ["1 d 9.333 h", "queue status Q: online → offline"], ["1 d 12.12 h", "network capacity HERE: × 0.5"]]


def test_incidents_that_would_overprint_have_one_label():
    marks = [Mark(at, at, name) for at, name in ((0.0, "a"), (1.0, "b"), (2.0, "c"), (9.0, "d"))]
    assert apart(marks, 3.0) == [(marks[:3], "a and 2 more"), (marks[3:], "d")]

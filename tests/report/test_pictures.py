"""Pictures as a reader sees them: texts apart and inside, axes at the data; drawn once, as SVG with names."""

import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from fake_run import write_fake_run
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from simgrid_broker.records import read_run, write_csv
from simgrid_broker.report.blocks import Mark, Marks, Plot
from simgrid_broker.report.context import context
from simgrid_broker.report.drawing import layout
from simgrid_broker.report.drawing.layout import in_lines, sheet
from simgrid_broker.report.drawing.pictures import about, plots_of
from simgrid_broker.report.drawing.svg import as_file
from simgrid_broker.report.drawing.text_widths import fitted, width
from simgrid_broker.report.figures.series import lines, overlaid, stacked
from simgrid_broker.report.sections import SECTIONS, jobs
from simgrid_broker.units import HOUR

DPI = 150
TOUCH = 1.0
"""Pixels by which the boxes of two texts may overlap: they include the space between letters."""
LONG = "_A_NAME_LONGER_THAN_ANY_MARGIN_SHOULD_BE_ASKED_TO_HOLD"
NAMED = ("site", "candidate", "storage", "source", "name")
"""Dimensions whose names a scenario chooses."""


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    return context(read_run(write_fake_run(tmp_path_factory.mktemp("pictures"), n_jobs=1500, sample_s=3600.0)))


@pytest.fixture(scope="module")
def plots(view):
    return plots_of(section(view) for section in SECTIONS)


@pytest.fixture(scope="module")
def figures(plots):
    """The figures of all plots, drawn."""
    return {plot.name: figure_of(plot) for plot in plots}


def with_long_names(plot):
    """The plot with long names; those of one dimension still differ."""
    table = plot.table
    return replace(plot, table=table.assign(**{name: table[name].astype(str) + LONG for name in NAMED
                                               if name in table}))


def figure_of(plot):
    """The figure of a plot, drawn."""
    figure, axes = sheet(plot.size, plot.panels)
    plot.draw(plot.table, axes)
    return rendered(figure)


def rendered(figure):
    """The figure drawn as pixels, with widths of texts by Matplotlib instead of those that SVG assumes."""
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure).draw()
    return figure


def texts_of(figure):
    """Visible texts with their boxes, pixels."""
    renderer = figure.canvas.get_renderer()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    free = {id(text): text for axes in shown for text in seen(axes)}
    return [*((text.get_text(), text.get_rotation(), text.get_window_extent(renderer)) for text in free.values()),
            *((written.text, written.angle, written.box) for axes in shown for axis in (axes.xaxis, axes.yaxis)
              for written in axis.written)]


def seen(axes):
    """Texts of axes that are drawn, without those that an axis writes."""
    of_axis = {id(axes.xaxis.label), id(axes.yaxis.label)}
    return [text for text in axes.findobj(Text) if text.get_visible() and text.get_text().strip()
            and id(text) not in of_axis]


def overlapping(texts):
    """Pairs of level texts whose boxes overlap."""
    level = [(text, box) for text, rotation, box in texts if rotation in (0, 90)]
    return [(a, b) for (a, first), (b, second) in combinations(level, 2)
            if min(first.x1, second.x1) - max(first.x0, second.x0) > TOUCH
            and min(first.y1, second.y1) - max(first.y0, second.y0) > TOUCH]


def assert_legible(name, figure):
    """Texts are apart and within the picture."""
    texts, page = texts_of(figure), figure.bbox
    assert overlapping(texts) == [], name
    assert [text for text, _, box in texts if box.x0 < page.x0 - TOUCH or box.x1 > page.x1 + TOUCH
            or box.y0 < page.y0 - TOUCH or box.y1 > page.y1 + TOUCH] == [], name


def test_texts_neither_overprint_nor_leave_the_picture(figures):
    for name, figure in figures.items():
        assert_legible(name, figure)


def test_names_of_any_length_are_legible(plots):
    for plot in plots:
        if set(NAMED) & set(plot.table):
            assert_legible(plot.name, figure_of(with_long_names(plot)))


def test_legends_cover_no_curve(figures):
    with_legend = [axes for figure in figures.values() for axes in figure.axes if axes.get_legend() is not None]
    assert len(with_legend) == 7
    for axes in with_legend:
        box, curves = axes.get_legend().get_window_extent(), axes.bbox
        assert box.x0 >= curves.x1 - TOUCH or box.y0 >= curves.y1 - TOUCH


def test_the_labels_of_many_incidents_are_apart(view):
    at = np.linspace(0.2, 0.99, 8) * view.window.end_s
    marks = Marks(view.marks.start_s, tuple(
        Mark(when, when + HOUR * (k % 3), f"site outage SITE-{k}{LONG}") for k, when in enumerate(at)))
    for plot in plots_of([jobs(replace(view, marks=marks))]):
        figure = figure_of(plot)
        assert_legible(plot.name, figure)
        assert sum(text.startswith("site outage") for text, _, _ in texts_of(figure)) == 8


@pytest.mark.parametrize(("n_others", "n_names"), [pytest.param(0, 4, id="named"), pytest.param(9, 0, id="too many")])
def test_an_incident_is_a_bar_from_its_begin_to_its_end(n_others, n_names):
    outages = [(0.0, 3.0, "before the axis"), (2.0, 6.0, "outage"), (4.0, 99.0, "beyond"), (5.0, 5.0, "a change"),
               (-2.0, -1.0, "over")]
    others = [(5.1 + 0.5 * k, 5.1 + 0.5 * k, f"other {k}") for k in range(n_others)]
    marks = Marks(HOUR, tuple(Mark(HOUR * at, HOUR * until, name) for at, until, name in (*outages, *others)))
    table = pd.DataFrame({"site": "a", "time_s": [HOUR, 11 * HOUR], "value": 1.0})
    plot = Plot("p", "P", table, lambda table, axes: stacked(table, axes, "site", "cores", marks=marks), "")
    figure = figure_of(plot)
    bars = {bar.get_gid(): bar for bar in figure.axes[0].lines if bar.get_gid()}
    assert {name: list(bar.get_xdata()) for name, bar in bars.items()} == {
        "before the axis": pytest.approx([0, 0.2]), "outage": pytest.approx([0.1, 0.5]),
        "beyond": pytest.approx([0.3, 1])}
    level = [bar.get_window_extent().y0 for bar in bars.values()]
    assert abs(level[1] - level[0]) > 3 * TOUCH < abs(level[1] - level[2]), "those that overlap are in two lines"
    assert sum(text in {name for *_, name in outages} for text, _, _ in texts_of(figure)) == n_names
    assert_legible(plot.name, figure)


@pytest.mark.parametrize("draw", [lines, stacked])
def test_forty_sites_at_one_height_have_their_names_apart(draw):
    table = pd.DataFrame([(time_s, f"SITE-{k:02}{LONG}", 70.0) for time_s in (0.0, HOUR) for k in range(40)],
                         columns=["time_s", "site", "value"])
    texts = texts_of(figure_of(Plot("p", "P", table, lambda table, axes: draw(table, axes, "site", "used (%)"), "")))
    assert overlapping(texts) == []
    assert sum("…" in text for text, _, _ in texts) >= 8


def test_a_time_axis_begins_with_the_window(plots, figures, view):
    timed = [plot.name for plot in plots if "time_s" in plot.table or plot.name == "task_phases"]
    assert len(timed) == 13
    for name in timed:
        for axes in figures[name].axes:
            if axes.get_visible():
                assert axes.get_xlim()[0] * HOUR == pytest.approx(view.window.start_s), name


@pytest.mark.parametrize(("values", "begins"), [
    pytest.param([490_000, 500_000], 489_500, id="at the data"),
    pytest.param([240_000, 500_000], 0, id="at 0 where the data fill half of it"),
    pytest.param([-3, 10], -3.65, id="below 0"), pytest.param([7, 7], 6.65, id="one value"),
    pytest.param([0, 0], 0, id="nothing but 0"),
])
def test_a_value_axis_begins_where_the_data_are(values, begins):
    table = pd.DataFrame({"run": "A", "time_s": [0.0, HOUR], "value": np.array(values, float)})
    figure = figure_of(Plot("p", "P", table, lambda table, axes: overlaid(table, axes, "running cores"), ""))
    assert figure.axes[0].get_ylim()[0] == pytest.approx(begins)


def test_each_figure_is_drawn_once(plots, monkeypatch):
    drawings = []
    once = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda figure, renderer: (drawings.append(id(figure)), once(figure, renderer)))
    for plot in plots:
        picture = ElementTree.fromstring(layout.svg(plot.draw, plot.table, plot.size, plot.panels, plot.name))
        across, down = (float(size) for size in picture.get("viewBox").split()[2:])
        assert (across, down) == pytest.approx([720 * inches for inches in plot.size], abs=1)
    assert len(drawings) == len(plots)


def test_a_curve_is_drawn_at_its_values_under_its_name():
    table = pd.DataFrame({"site": "<b>&\"", "time_s": [0.0, HOUR, 2 * HOUR], "value": [0.0, 50.0, 100.0]})
    text = layout.svg(lambda table, axes: lines(table, axes, "site", "used (%)"), table, (10, 4), name="used")
    picture = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    axes = next(part for part in picture.iter(f"{space}g") if part.get("data-axes"))
    left, right, bottom, top, first, last, low, high = map(float, axes.get("data-axes").split())
    assert (first, last, low) == (0, 2 * HOUR, 0)
    curve = next(part for part in axes.iter(f"{space}g") if part.get("data-n") == '<b>&"')
    start = re.match(r"M(\d+) (\d+)", curve.find(f"{space}path").get("d")).groups()
    assert float(start[0]) == pytest.approx(left, abs=1) and float(start[1]) == pytest.approx(bottom, abs=1)
    assert "<b>" not in text and high > 100


def test_texts_are_in_their_places_whatever_was_drawn_before():
    def draw(table, axes):
        layout.dress(axes, xlabel="a label of no other picture")
    layout.for_file(draw, None, (10, 4))
    place = re.search('<text x="([0-9]+)"[^>]*>a label of no other', layout.svg(draw, None, (10, 4))).group(1)
    middle = (layout.LEFT + 10 - layout.RIGHT) / 2
    assert float(place) == pytest.approx(720 * (middle - width("a label of no other picture", layout.LABEL) / 2), abs=1)


def test_a_curve_has_a_gap_where_there_is_no_value():
    table = pd.DataFrame({"run": "A", "time_s": np.arange(6) * HOUR, "value": [1, 2, np.nan, np.nan, 5, 6]})
    text = layout.svg(lambda table, axes: overlaid(table, axes, "cores"), table, (10, 4))
    curve = re.search(r'<g data-n="A">.*?<path [^>]*d="([^"]*)"', text)
    assert curve.group(1).count("M") == 2


def test_colours_of_a_page_are_variables_and_those_of_a_file_are_not():
    table = pd.DataFrame({"site": ["a", "a"], "time_s": [0.0, HOUR], "value": 1.0})
    text = layout.svg(lambda table, axes: stacked(table, axes, "site", "cores"), table, (10, 4))
    assert {"var(--grid)", "var(--faint)"} <= set(re.findall(r"var\(--\w+\)", text))
    assert "var(" not in as_file(text) and ElementTree.fromstring(as_file(text)) is not None


def test_the_text_alternative_of_a_plot_names_its_largest_values(plots):
    table = pd.DataFrame({"site": list("abcd"), "metric": "used", "value": [1.0, 4.0, 3.0, 2.0], "unit": "%"})
    plot = Plot("p", "Use of sites", table, None, "")
    assert about(plot) == "Use of sites. Largest, %: b: 4; c: 3; d: 2."
    assert about(replace(plot, table=table.assign(time_s=0.0))).startswith("Use of sites. Largest means over time, %")
    assert about(replace(plot, table=table.assign(time_s=7200.0))).endswith("Highest: b 4 at 2 h.")
    settings = pd.DataFrame({"gdpconfig.K": [1, 2], "value": [5.0, 6.0], "low": 0.0})
    assert about(replace(plot, table=settings)) == "Use of sites. Largest: gdpconfig.K = 2: 6; gdpconfig.K = 1: 5."
    shares = pd.DataFrame([(HOUR * hour, "A", metric, value) for hour, got in enumerate((9, 3, 6))
                           for metric, value in (("delivered", got), ("target", 8.0))],
                          columns=["time_s", "share", "metric", "value"])
    assert about(replace(plot, table=shares)).endswith("Furthest below its target: A, 6 of 8 %, below since 1 h.")
    assert sum(about(plot) == plot.title for plot in plots) == 0


@pytest.mark.parametrize(("high", "names", "label"), [
    pytest.param(2.0, ["0.0", "0.5", "1.0", "1.5", "2.0"], "value", id="as they are"),
    pytest.param(2e7, ["0.0", "0.5", "1.0", "1.5", "2.0"], "value (1e7)", id="a factor is in the label"),
    pytest.param(1.9, ["0.0", "0.5", "1.0", "1.5"], "value", id="none beyond the end"),
])
def test_an_axis_writes_the_names_of_its_ticks_and_its_label(high, names, label):
    figure, axes = sheet((10, 4))
    layout.dress(axes, xlabel="value")
    axes.set_xlim(0, high)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[5]))
    rendered(figure)
    assert [written.text for written in axes.xaxis.written] == [*names, label]
    boxes = [written.box for written in axes.xaxis.written]
    assert all(box.y1 < axes.bbox.y0 for box in boxes) and boxes[-1].y1 < min(box.y0 for box in boxes[:-1]) + TOUCH
    assert (boxes[0].x0 + boxes[0].x1) / 2 == pytest.approx(axes.bbox.x0, abs=TOUCH)


def test_a_name_may_contain_dollar_signs():
    table = pd.DataFrame({"site": ["$a_$", "b"] * 2, "time_s": [0.0, 0.0, HOUR, HOUR], "value": 1.0})
    assert ">$a_$<" in layout.svg(lambda table, axes: stacked(table, axes, "site", "cores"), table, (10, 4))


@pytest.mark.parametrize("panels", [(2, 1), (1, 3), (2, 4)])
def test_gaps_between_panels_are_as_wide_as_asked(panels):
    figure, axes = sheet((10, 6), panels)
    layout.gaps(axes, across=0.5, down=0.4)
    boxes = {(round(box.x0, 6), round(box.y0, 6)): box for box in (one.get_position() for one in figure.axes)}
    columns, rows = (sorted({place[k] for place in boxes}) for k in (0, 1))
    box = boxes[columns[0], rows[0]]
    assert [10 * (column - box.x1) for column in columns[1:2]] == pytest.approx([0.5] * (panels[1] > 1), abs=1e-4)
    assert [6 * (row - box.y1) for row in rows[1:2]] == pytest.approx([0.4] * (panels[0] > 1), abs=1e-4)


def test_widths_by_the_font_hold_the_drawn_text():
    figure = Figure(dpi=DPI)
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text in ("T2-DE-01_DATADISK", "WWWmmm", "A → B …", "Iil.,"):
        for size in (6.5, 8, 9):
            box = figure.text(0, 0, text, fontsize=size).get_window_extent(renderer)
            assert width(text, size) == pytest.approx(box.width / DPI, rel=0.12)
    assert fitted("short", 8, 1.0) == "short"
    assert width(fitted("x" * 99, 8, 1.0), 8) <= 1.0


def test_spans_that_overlap_are_in_different_lines():
    assert in_lines([(0, 2), (1, 3), (2, 4), (2.5, 5), (6, 7)]) == [0, 1, 0, 2, 0]


def test_a_page_without_plots_needs_no_matplotlib(tmp_path):
    run = write_fake_run(tmp_path)
    program = ("import sys, simgrid_broker as sb; from simgrid_broker.cli.run import write_and_print, Pages; "
               f"write_and_print(sb.read_run({str(run)!r}), pages=Pages(plots=False)); "
               "sys.exit('matplotlib' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
    assert (run / "report.html").is_file() and not (run / "plots").exists()


def test_matplotlib_is_imported_without_texts_for_help_and_with_them_afterwards():
    program = ("from simgrid_broker.report.drawing import pictures\n"
               "with pictures.without_help():\n    from matplotlib.text import Text\n"
               "from matplotlib.lines import Line2D\nclass Mine(Line2D):\n    pass\n"
               "text = Text()\ntext.set(text='a', color='red')\n"
               "print(text.get_text(), bool(Text.set.__doc__), 'linewidth' in Mine.set.__doc__)")
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["a", "False", "True"]


@pytest.mark.parametrize("name", ["hi", "S", "mid"])
def test_a_short_name_is_written_in_full(name):
    assert fitted(name, 8.0, 1.0) == name

def test_formulas_in_cells_and_heads_are_quoted_in_csv(tmp_path):
    table = pd.DataFrame({"=a": ["=1+2", "-2+3|x", "@x", "\tq", "-cap_rt", "MC16", None], "n": [-1.5, 2.0] + [0.0] * 5})
    assert write_csv(tmp_path / "a.csv", table).read_text().splitlines() == [
        "'=a,n", "'=1+2,-1.5", "'-2+3|x,2.0", "'@x,0.0", "'\tq,0.0", "-cap_rt,0.0", "MC16,0.0", ",0.0"]


def test_a_csv_has_the_bytes_that_pandas_writes(tmp_path):
    table = pd.DataFrame({
        "text": ['a,"b"', "two\nlines", None, "é"], "float": [0.1, 1e300, np.nan, -np.inf], "int": [1, -2, 3, 2**40],
        "bool": [True, False, True, True], "single": np.array([0.1, 2, 3, 4], np.float32),
        "codes": pd.Categorical.from_codes([0, -1, 1, 1], ["x", "y z"]), "maybe": pd.array([1, None, 3, 4], "Int64"),
        "mixed": [1, "b", 2.5, None]})
    for one in (table, table[["text"]], table[:0]):
        assert write_csv(tmp_path / "a.csv", one).read_text() == one.to_csv(index=False, lineterminator="\n")


def test_circles_are_drawn_together_as_one_by_one(monkeypatch):
    """Markers of one look, some of which leave the axes; a gap has none."""
    def picture() -> str:
        figure = Figure((3.0, 2.0))
        axes = figure.subplots()
        axes.plot([0, 1, np.nan, 2.5, 3], [0.3, 1, 2, 2, 3.03], "o")
        axes.plot([1, 2], [2, 1], "s")
        axes.set(xlim=(0, 3), ylim=(0, 3))
        return layout.vector(figure, "circles", "")
    together = picture()
    monkeypatch.delattr(layout.Vector, "draw_markers")
    assert together == picture()
    assert together.count("0 1 0") == 8 and "clip-path" in together

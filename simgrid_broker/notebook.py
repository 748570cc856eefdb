"""Python sessions: bars of progress of runs and studies, and tables with bars of shares as HTML."""

import sys
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib import import_module
from typing import Any
from warnings import catch_warnings, simplefilter

BAR_PX = 240
"""Width of the largest bar."""
MOST_SHARES = 24
"""Shares of which a bar is shown."""


def in_notebook() -> bool:
    """True in a kernel of Jupyter, whose bars are widgets."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def bar(total: float, unit: str, **options: Any) -> Any:
    """A bar of tqdm, a widget in a notebook that has ipywidgets; it vanishes neither there nor on a terminal."""
    with catch_warnings():
        simplefilter("ignore")                              # without ipywidgets it says so, and draws text
        return import_module("tqdm.auto").tqdm(total=total, unit=unit, **options)


class RunBar:
    """Progress of `simulate`: simulated hours, and the cores that run."""

    def __init__(self, duration_s: float):
        self.bar = bar(duration_s / 3600, "h", bar_format="{l_bar}{bar}| {n:.4g} of {total:.4g} simulated "
                       "hours{postfix}, ends in {remaining}")

    def __call__(self, simulation: Any) -> None:
        """Show the state of a simulation."""
        self.bar.set_postfix_str(f"{simulation.running_cores:,} cores", refresh=False)
        self.bar.update(simulation.env.now / 3600 - self.bar.n)

    def close(self) -> None:
        """End the bar."""
        self.bar.close()


class StudyBar:
    """Progress of a study in runs; it begins with the first state and ends with the last."""

    def __init__(self) -> None:
        self.bar: Any = None

    def __call__(self, progress: Any) -> None:
        """Show a state of a study, a `running.Progress`."""
        ended = progress.done + progress.failed
        if self.bar is None:
            self.bar = bar(progress.total, "run", initial=ended)
        if progress.failed:
            self.bar.set_postfix_str(f"{progress.failed} failed", refresh=False)
        self.bar.update(ended - self.bar.n)
        if ended >= progress.total:
            self.bar.close()


def watcher() -> Callable[[Any], None]:
    """Watcher of the progress of a study that names none: a bar in a notebook."""
    return StudyBar() if in_notebook() else lambda progress: None


def facts_html(facts: Mapping[str, object]) -> str:
    """Names and values as a table."""
    return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
                               for name, value in facts.items()) + "</table>"


def shares_html(rows: Iterable[tuple[str, int, float, float | None]], unit: str = "%") -> str:
    """A picture of shares: a bar for what each got, or for its target alone, and a mark at its target.

    rows: name, level from 1, target, and what it got, None = nothing is known of it.
    """
    rows = list(rows)
    most = max([value for _, _, target, got in rows for value in (target, got or 0.0)], default=0.0) or 1.0

    def line(name: str, level: int, target: float, got: float | None) -> str:
        place, width = BAR_PX * target / most, BAR_PX * (target if got is None else got) / most
        words = f"{target:.1f} {unit}" if got is None else f"{got:.1f} of {target:.1f} {unit}"
        drawn = (f'<svg width="{BAR_PX + 4}" height="14"><rect x="0" y="2" width="{width:.1f}" height="10" '
                 f'fill="#56B4E9"/><rect x="{place:.1f}" y="0" width="2" height="14" fill="currentColor"/></svg>')
        return (f'<tr><td style="text-align:left;padding-left:{level:.0f}em">{escape(name)}</td><td>{drawn}</td>'
                f'<td style="text-align:left">{words}</td></tr>')
    more = f"<p>{len(rows) - MOST_SHARES} more shares</p>" if len(rows) > MOST_SHARES else ""
    return "<table>" + "".join(line(*row) for row in rows[:MOST_SHARES]) + "</table>" + more

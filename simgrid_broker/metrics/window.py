"""The time window that figures cover, the times of job rows, figures computed once for each run, and their long form.

The long form is put together column by column: pandas' `melt` and `pivot` take several milliseconds for a table of any
size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from simgrid_broker.errors import InputFileError
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import format_seconds

RUN_TIMES = ("running_s", "holding_s", "transferring_s", *JOB_END_TIMES)
"""Columns from which the run time of a payload follows."""
P = ParamSpec("P")
T = TypeVar("T")
_RESULTS: WeakKeyDictionary[Run, dict[tuple, Any]] = WeakKeyDictionary()
_MADE: WeakKeyDictionary[Run, dict["Pass", list | None]] = WeakKeyDictionary()
"""Results of passes over the job rows, one for each batch, until they are asked for; then None."""


@dataclass(frozen=True)
class Window:
    """From start_s to end_s, both included, s since the scenario's start."""

    start_s: float
    end_s: float

    def __str__(self) -> str:
        if self.end_s < self.start_s:
            end, warm_up = format_seconds(self.end_s), format_seconds(self.start_s)
            return f"nothing: the run ends at {end}, its warm-up at {warm_up}"
        return f"{format_seconds(self.start_s)} to {format_seconds(self.end_s)}"

    @property
    def length_s(self) -> float:
        """Length; 0 if the run ended within its warm-up."""
        return max(self.end_s - self.start_s, 0.0)

    def holds(self, times) -> np.ndarray:
        """Mask of the times within the window; False for NaN."""
        return (np.asarray(times) >= self.start_s) & (np.asarray(times) <= self.end_s)

    def covers(self, times) -> np.ndarray:
        """Mask of the samples whose interval since the previous sample lies in the window; false at its start."""
        return (np.asarray(times) > self.start_s) & (np.asarray(times) <= self.end_s)


def window_of(run: Run) -> Window:
    """The window of a run's figures: from the end of the warm-up to the end of the recorded data."""
    return Window(float(run.manifest["warm_up_s"]), run.end_s)


def part_of_jobs(run: Run) -> float:
    """Fraction of the jobs that have a row."""
    return float(run.manifest["scenario"]["record"]["jobs"])


def texts(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """A table whose columns of names, or the given ones, are texts."""
    chosen = names or [name for name, column in table.items() if isinstance(column.array, pd.Categorical)]
    return table.assign(**{name: pd.Series(texts_of(table[name].array), table.index, object)
                           for name in chosen}) if chosen else table


def texts_of(column: Any) -> np.ndarray:
    """Values of a column of names as texts, NaN = none, in a fraction of the time of pandas' `astype`."""
    if not isinstance(column, pd.Categorical):
        return np.asarray(column, object)
    return np.append(np.asarray(column.categories, object), np.nan).take(column.codes)


def ended_in(run: Run, window: Window) -> pd.DataFrame:
    """Hourly sums of all attempts that ended in the hours that begin in the window, names as text."""
    return texts(run.ended[window.holds(run.ended.time_s) & (run.ended.time_s < window.end_s)])


class Pass(NamedTuple):
    """Pass over the job rows: columns that it reads, and the function that makes something of a batch in a window."""

    columns: tuple[str, ...]
    of_batch: Callable[[pd.DataFrame, Window], Any]


def selection(columns: Sequence[str], wanted: Callable[[pd.DataFrame, Window], Any], *reads: str) -> Pass:
    """The pass that selects columns of the rows for which the mask `wanted(rows, window)` holds, names as text.

    reads: other columns, which the mask needs.
    """
    return Pass((*columns, *reads), lambda rows, window: texts(
        rows.loc[np.asarray(wanted(rows, window)), list(columns)]))


def read_jobs(run: Run, passes: Sequence[Pass]) -> None:
    """Make several passes over the job rows at once, which decodes each column once, unless they were made before.

    What they make is kept until it is asked for; of a table that cannot be read the one who asks learns why.
    """
    known = _MADE.setdefault(run, {})
    if new := [each for each in passes if each not in known]:
        with suppress(InputFileError):
            known |= _made(run, new)


def made_of_jobs(run: Run, wanted: Pass) -> list[Any]:
    """Results of a pass, one for each batch of the job rows and at least one, which are then no longer kept."""
    known = _MADE.setdefault(run, {})
    pieces = known.get(wanted)
    known[wanted] = None
    return _made(run, [wanted])[wanted] if pieces is None else pieces


def _made(run: Run, passes: Sequence[Pass]) -> dict[Pass, list]:
    """Results of some passes, one for each batch of the job rows."""
    window, columns = window_of(run), dict.fromkeys(name for each in passes for name in each.columns)
    made: dict[Pass, list] = {each: [] for each in passes}
    for rows in run.batches("jobs", list(columns)):
        for each, pieces in made.items():
            pieces.append(each.of_batch(rows, window))
    return made


def selected_jobs(run: Run, columns: Sequence[str], wanted: Callable[[pd.DataFrame], np.ndarray]) -> pd.DataFrame:
    """Columns of the job rows for which the mask `wanted(rows)` holds, names as text; read in batches."""
    chosen = selection(columns, lambda rows, window: wanted(rows))
    return pd.concat(_made(run, [chosen])[chosen], ignore_index=True)


def end_times(jobs: Mapping) -> np.ndarray:
    """End of each job, s; NaN for jobs that are alive; `jobs` has JOB_END_TIMES."""
    return np.fmax.reduce([np.asarray(jobs[name]) for name in JOB_END_TIMES])


def run_times(jobs: Mapping) -> np.ndarray:
    """Run time of each ended job, s; NaN for jobs that never ran or have not ended; `jobs` has RUN_TIMES.

    Running ends at the first of holding, transferring and the end of the job; pilot time before and after is excluded.
    """
    running, ended = np.asarray(jobs["running_s"]), end_times(jobs)
    stopped = ended
    for name in ("holding_s", "transferring_s"):
        moment = np.asarray(jobs[name])
        stopped = np.where((moment >= running) & (moment < stopped), moment, stopped)
    return stopped - running


def once_per_run(metric: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
    """A metric whose result is kept as long as its run, which was read at one moment; callers get copies of tables."""
    @wraps(metric)
    def of(run: Run, /, *args: P.args, **options: P.kwargs) -> T:
        results, call = _RESULTS.setdefault(run, {}), (metric, args, tuple(sorted(options.items())))
        if call not in results:
            results[call] = metric(run, *args, **options)
        return results[call].copy(deep=False) if isinstance(results[call], pd.DataFrame) else results[call]
    return of


LABELS = ("metric", "value", "unit", "window")
"""The columns after the dimensions."""


def tidy(table: pd.DataFrame, dims: Sequence[str], figures: Mapping[str, str], window: Window | str) -> pd.DataFrame:
    """Long table: `dims`, metric, value, unit, window; `figures` gives the unit of each column that is a figure."""
    n_rows, n_figures = len(table), len(figures)
    again = np.tile(np.arange(n_rows), n_figures)
    values = np.empty((n_figures, n_rows))
    for place, name in enumerate(figures):
        values[place] = table[name].to_numpy(float, na_value=np.nan)
    number = np.repeat(np.arange(n_figures), n_rows)
    metric = pd.Categorical.from_codes(number, dtype=_kind(tuple(figures)))         # an empty table keeps its metrics
    words = _words((*figures.values(), str(window)))
    return pd.DataFrame({name: table[name].array.take(again) for name in dims} | {
        "metric": metric, "value": values.ravel(), "unit": words.take(number),
        "window": words.take(np.full(len(number), n_figures))})


@lru_cache(256)
def _kind(names: tuple[str, ...]) -> pd.CategoricalDtype:
    """The type of a column of some names; pandas takes longer to make it than to make the column."""
    return pd.CategoricalDtype(names)


@lru_cache(256)
def _words(names: tuple[str, ...]) -> Any:
    """An array of some names, from which columns are taken; pandas takes longer to make one of Python's texts."""
    return pd.array(names, "str")


def wide(table: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """One row per combination of dimensions, one column per metric (default: all), in order of appearance.

    Raises ValueError for a metric that has two values.
    """
    dims = [name for name in table.columns if name not in LABELS]
    metric, names = pd.factorize(table.metric.array)
    if metrics:
        number = {name: place for place, name in enumerate(metrics)}
        place = np.array([number.get(name, -1) for name in names], np.int64)
        wanted = place[metric] >= 0
        table, metric = (table, place[metric]) if wanted.all() else (table[wanted], place[metric[wanted]])
    else:
        metrics = tuple(names if len(table) else table.metric.cat.categories)
    row, first = combinations(table, dims)
    values = np.full((len(metrics), len(first)), np.nan)
    if np.bincount(row * len(metrics) + metric, minlength=1).max() > 1:
        raise ValueError("a metric has two values for one combination of dimensions")
    values[metric, row] = table.value
    return pd.DataFrame({name: table[name].array.take(first) for name in dims}
                        | dict(zip(metrics, values, strict=True)))


def combinations(table: pd.DataFrame, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the combination of values of some columns in each row, in order of appearance, and the first row of
    each.
    """
    row, n_rows = np.zeros(len(table), np.int64), min(len(table), 1)
    for name in names:
        codes, values = pd.factorize(table[name].array, use_na_sentinel=False)
        if n_rows < 2:                                                # the first column that tells rows apart
            row, n_rows = codes, len(values)
        elif len(values) > 1:
            row, pairs = pd.factorize(row * len(values) + codes)      # again, so that no product is too large
            n_rows = len(pairs)
    first = np.full(n_rows, len(row))
    np.minimum.at(first, row, np.arange(len(row)))
    return row, first


MOST_NUMBERS = 1 << 62
"""Most combinations of values that have a number each."""


def grouped(table: pd.DataFrame, by: Sequence[str]) -> tuple[dict[str, Any], np.ndarray]:
    """Values of the columns `by` in each group of equal ones, in their order, and the group of each row.

    Names are texts; rows without a value are in no group, -1.
    """
    keys, group = _groups(table, by)
    return {name: texts_of(key) if isinstance(key, pd.Categorical) else key for name, key in keys.items()}, group


def _groups(table: pd.DataFrame, by: Sequence[str]) -> tuple[dict[str, Any], np.ndarray]:
    """As `grouped`, names as they are."""
    number, known, end = np.zeros(len(table), np.int64), np.ones(len(table), bool), 1
    for name in by:
        codes, n_words = _in_order(table[name].array)
        known &= codes >= 0
        if end * n_words > MOST_NUMBERS:
            number, words = pd.factorize(number, sort=True)
            end = len(words)
        number, end = number * n_words + codes, end * n_words
    number[~known] = -1
    group, words = pd.factorize(number, sort=True)
    n_unknown = np.count_nonzero(words < 0)                           # they come first
    group, first = group - n_unknown, np.empty(len(words), np.int64)
    first[group[::-1]] = np.arange(len(table))[::-1]
    return {name: table[name].array.take(first[:len(words) - n_unknown]) for name in by}, group


def sums(table: pd.DataFrame, by: Sequence[str], *figures: str) -> pd.DataFrame:
    """Sums of some figures by the columns `by`, as `grouped`; those of whole numbers are whole."""
    return sums_of_batches([table], by, *figures)


def sums_of_batches(tables: Iterable[pd.DataFrame], by: Sequence[str], *figures: str) -> pd.DataFrame:
    """As `sums`, over the rows of several tables, each needed only until the next."""
    pieces = [_sums(table, by, figures) for table in tables]
    found = pieces[0] if len(pieces) == 1 else _sums(pd.DataFrame(
        {name: _joined([piece[name] for piece in pieces]) for name in pieces[0]}), by, figures)
    return pd.DataFrame({name: texts_of(column) if isinstance(column, pd.Categorical) else column
                         for name, column in found.items()})


def _sums(table: pd.DataFrame, by: Sequence[str], figures: Sequence[str]) -> dict[str, Any]:
    """The columns of `sums`, names as they are."""
    keys, group = _groups(table, by)
    return keys | {name: summed(table[name].to_numpy(), group, len(keys[by[0]])) for name in figures}


def _joined(pieces: Sequence[Any]) -> Any:
    """Pieces of a column, one after the other; the categories of names may differ."""
    return union_categoricals(pieces) if isinstance(pieces[0], pd.Categorical) else np.concatenate(pieces)


def summed(values: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Sums of values by group, NaN as nothing; whole numbers of whole ones."""
    is_float = values.dtype.kind == "f"
    counted = (group >= 0) & ~np.isnan(values) if is_float else group >= 0
    if not counted.all():
        group, values = group[counted], values[counted]
    found = np.bincount(group, values, n_groups)
    return found if is_float else found.astype(np.int64)


def largest(values: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Largest value of each group; NaN without any."""
    found = np.full(n_groups, np.nan)
    np.fmax.at(found, group[group >= 0], values[group >= 0])
    return found


def _in_order(column) -> tuple[np.ndarray, int]:
    """Rank of each value among the different ones, -1 = none, and their number; names are ranked as texts."""
    if not isinstance(column, pd.Categorical):
        codes, words = pd.factorize(np.asarray(column), sort=True)
        return codes, len(words)
    rank = np.empty(len(column.categories) + 1, np.int64)
    rank[np.argsort(np.asarray(column.categories, object))], rank[-1] = np.arange(len(rank) - 1), -1
    return rank.take(column.codes), len(rank)


def matrix(table: pd.DataFrame, rows: str, columns: str, values: str = "value") -> pd.DataFrame:
    """Sums of `values` for each pair of the values of two columns, both in their order, NaN for a pair without rows."""
    (row, index), (column, heads) = (pd.factorize(table[name], sort=True) for name in (rows, columns))
    number = table[values].to_numpy(float, na_value=np.nan)
    known = (row >= 0) & (column >= 0) & ~np.isnan(number)
    place, n_pairs = (row * len(heads) + column)[known], len(index) * len(heads)
    sums = np.where(np.bincount(place, minlength=n_pairs), np.bincount(place, number[known], n_pairs), np.nan)
    return pd.DataFrame(sums.reshape(len(index), len(heads)), pd.Index(index, name=rows), pd.Index(heads, name=columns))

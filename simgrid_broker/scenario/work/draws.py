"""Draws of tasks: log-normal quantities, sites of input, arrivals, users with their groups, favourites and storms; and
the datasets of a scenario in one list, single ones and drawn ones, with what each task of a stream reads.

Tasks arrive by Poisson processes whose rate follows the day and the week. A stream is laid out in *even time*, in which
its rate is constant, and then stretched to the clock. Each gap is keyed by its number, so a longer run has the same
arrivals and some more. Draws of a population of datasets are keyed by its name and the rank of the dataset, those of a
task by its stream and number, so another population or stream moves none of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simgrid_broker.luck import key_of, normal_quantile, uniforms
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.scenario.work.campaigns import Payload, UserActivity
from simgrid_broker.scenario.work.input_files import (
    MOST_THINGS,
    Dataset,
    NumberSpread,
    Population,
    Spread,
    dataset_names,
)
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.units import DAY, MINUTE


def draw(spread: Spread, seed: int, key: int, index: np.ndarray, question: int,
         stream: str = "task_draw") -> np.ndarray:
    """Values of a log-normal quantity for the tasks `index` of a stream, (n,)."""
    if spread.sigma == 0:
        values = np.full(len(index), float(spread.median))
    else:
        normal = normal_quantile(uniforms(seed, stream, key, index, question))
        values = spread.median * np.exp(spread.sigma * normal)
    return values if spread.max is None else np.minimum(values, spread.max)


def draw_number(spread: NumberSpread, seed: int, key: int, index: np.ndarray, question: int,
                stream: str = "task_draw") -> np.ndarray:
    """Draws of a NumberSpread for the tasks `index` of a stream, whole numbers, (n,)."""
    return np.clip(np.rint(draw(spread, seed, key, index, question, stream)), 1, MOST_THINGS)


def holders(grid: Grid, where: str) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Sites that may hold input: names, numbers and weights (n_holders,): the bytes of their storages.

    Nuclei with a storage if asked for and there are any; else every site with a storage; else every site alike.
    """
    size = dict.fromkeys(grid.sites, 0.0)
    for storage in grid.data_storages.values():
        size[storage.site] += storage.total
    stored = [site for site in size if size[site] > 0]
    nuclei = [site for site in stored if grid.sites[site].nucleus]
    chosen = tuple((nuclei if where == "nuclei" else []) or stored or size)
    number = {site: k for k, site in enumerate(grid.sites)}
    weight = np.array([size[site] for site in chosen]) if stored else np.ones(len(chosen))
    return chosen, np.array([number[site] for site in chosen], np.int32), weight


_STEP = 5 * MINUTE
_WEEKDAYS, _DAYS = 5, 7


def even_time(t, payload: Payload) -> np.ndarray:
    """Integral of the relative rate of `payload` from 0 to the times `t`, s; its mean slope over a week is 1."""
    t = np.asarray(t, float)
    day, within = np.floor(t / DAY).astype(int), np.mod(t, DAY)
    weekend = 1 - payload.weekend_drop
    factor = np.array([1 + payload.weekend_drop * 2 / _WEEKDAYS] * _WEEKDAYS + [weekend] * 2)
    before = np.concatenate([[0], np.cumsum(factor)])[day % _DAYS] + day // _DAYS * _DAYS
    turn = 2 * np.pi / DAY
    wave = (np.sin(turn * (within - payload.peak)) + np.sin(turn * payload.peak)) / turn
    return before * DAY + factor[day % _DAYS] * (within + payload.daily_amplitude * wave)


def poisson_times(payload: Payload, rate: float, duration_s: float, seed: int, key: int) -> np.ndarray:
    """Times in [0, duration) of a Poisson process of mean `rate`, 1/s, with the rhythm of `payload`, sorted, (n,)."""
    if rate == 0:
        return np.empty(0)
    grid = np.arange(0, duration_s + 2 * _STEP, _STEP)
    even = even_time(grid, payload)
    expected = rate * even[-1]
    n = int(expected + 8 * np.sqrt(expected) + 20)         # the chance that this is too few is below 1e-12
    at = np.cumsum(-np.log(uniforms(seed, "task_arrival", key, np.arange(n))) / rate)
    times = np.interp(at[at < even[-1]], even, grid)
    return times[times < duration_s]


class TaskArrivals(NamedTuple):
    """Arrivals of tasks of a stream, s, (n,), with their users, None = the only one, and numbers, None = in order."""

    arrival_s: np.ndarray
    user: np.ndarray | None = None
    number: np.ndarray | None = None

    def in_order(self, end_s: float) -> "TaskArrivals":
        """The arrivals before a time, sorted."""
        order = np.argsort(self.arrival_s, kind="stable")
        order = order[self.arrival_s[order] < end_s]
        user, number = (None if column is None else column[order] for column in self[1:])
        return TaskArrivals(self.arrival_s[order], user, number)


def bags(activity: UserActivity, begins: np.ndarray, seed: int, key: int) -> TaskArrivals:
    """Tasks of the active periods that begin at `begins`, (n_periods,).

    The number is period x 2^20 + number in the period, so that no other period changes a task.
    """
    period = np.arange(len(begins))
    draw = [uniforms(seed, "task_arrival", key, period, 1 + question) for question in range(3)]
    stop = 1 / activity.tasks_per_period                   # geometric: the period ends after each task with this chance
    size = np.ones(len(period), int) if stop == 1 else 1 + np.floor(np.log(draw[0]) / np.log1p(-stop)).astype(int)
    which = np.repeat(period, size)
    number = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    length = -np.log(draw[1]) * activity.active_period
    offset = np.where(number == 0, 0, uniforms(seed, "task_arrival", key, which, 8 + number))
    arrival = begins[which] + offset * length[which]
    return TaskArrivals(arrival, zipf_ranks(draw[2], activity.users, activity.zipf)[which], which * _BAG + number)


_BAG = 1 << 20


def zipf_ranks(u: np.ndarray, n: int, exponent: float) -> np.ndarray:
    """Ranks 0 to n - 1 that follow Zipf's law, one for each uniform number, (n_draws,)."""
    weight = np.arange(1, n + 1) ** -float(exponent)
    return np.minimum(np.searchsorted(np.cumsum(weight) / weight.sum(), u), n - 1)


_MEMBER, _GROUP, _FAVOURITE = 52, 53, 54
FAVOURITES, STORM = "/favourites", "/storm"
"""Suffixes of a stream's name that key the places of favourite inputs, and the tasks of storms."""
_MANY = 1 << 20


def groups_of_users(activity: UserActivity, seed: int) -> np.ndarray:
    """Number of the group of each user in ("", *groups), (n_users,), 0 = none."""
    key, rank = key_of(activity.name), np.arange(activity.users)
    member = uniforms(seed, "task_draw", key, rank, _MEMBER) < activity.in_groups
    group = (uniforms(seed, "task_draw", key, rank, _GROUP) * len(activity.groups)).astype(int)
    return np.where(member, 1 + group, 0)


def favourites(activity: UserActivity, seed: int, key: int, index: np.ndarray,
               user: np.ndarray) -> tuple[int, np.ndarray]:
    """Key and number of the input of each task of a stream, (n,): the same for tasks of a user that read the same."""
    number = zipf_ranks(uniforms(seed, "task_draw", key, index, _FAVOURITE), activity.favourite_inputs, 1.0)
    return key_of(activity.name + FAVOURITES), user * _MANY + number


def storm_tasks(activity: UserActivity, seed: int) -> TaskArrivals:
    """Tasks of the storms of a group of users; each storm is keyed by its number."""
    size = np.array([storm.tasks for storm in activity.storms], np.int64)
    which = np.repeat(np.arange(len(size)), size)
    number = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    key = key_of(activity.name + STORM)
    drawn = zipf_ranks(uniforms(seed, "task_arrival", key, np.arange(len(size))), activity.users, activity.zipf)
    user = np.array([drawn[k] if storm.user is None else storm.user - 1 for k, storm in enumerate(activity.storms)],
                    np.int64)
    at, within = (np.array([getattr(storm, name) for storm in activity.storms]) for name in ("at", "within"))
    offset = np.where(number == 0, 0.0, uniforms(seed, "task_arrival", key, which, 8 + number))
    return TaskArrivals(at[which] + offset * within[which], user[which], which * _MANY + number).in_order(np.inf)


DRAW = "dataset_draw"
_FILES, _FILE_SIZE = range(2)
_INCOMPLETE, _PART, _SECONDARY, _LIFETIME = range(100, 500, 100)
"""Questions about a dataset; those about a replica count it in addition."""
_CHOICE = 48
"""Question about a task: which dataset of its container it reads."""
_LEAST, _MOST = 0.05, 0.95
"""Parts of the files that an incomplete replica may have."""

PlacedReplica = tuple[int, int, int, float, float, bool, bool]
"""Dataset, site, storage (-1 = the site has none), part, lifetime in s, whether on tape, whether virtual."""


@dataclass(frozen=True)
class Catalogue:
    """Datasets by number: names, files, bytes and popularity, (n,) each.

    members: numbers by container, and of the datasets of each stream with several masters.
    """

    names: tuple[str, ...] = ()
    n_files: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    bytes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    popularity: np.ndarray = field(default_factory=lambda: np.zeros(0))
    members: dict[str, np.ndarray] = field(default_factory=dict)
    replicas: tuple[PlacedReplica, ...] = ()


def catalogue(scenario: Scenario) -> Catalogue:
    """The datasets of a scenario: single ones first, then the populations."""
    data = scenario.data
    if not data.datasets and not data.populations:
        return Catalogue()
    single = list(data.datasets.values())
    drawn = [_Drawn(name, population, scenario) for name, population in data.populations.items()]
    names = dataset_names(data)
    members = {container: np.array([k for k, one in enumerate(single) if one.container == container])
               for container in dict.fromkeys(one.container for one in single if one.container is not None)}
    replicas, before = _placed(single, scenario), len(single)
    for each in drawn:
        members[each.name] = before + np.arange(len(each.rank))
        replicas += each.replicas(before)
        before += len(each.rank)
    for stream in scenario.workload.streams:
        if stream.datasets and set(stream.datasets) <= set(names):
            members[stream.read_whole or ""] = np.array([names.index(name) for name in stream.datasets])
    return Catalogue(
        names, np.concatenate([[one.files for one in single], *(each.files for each in drawn)]).astype(np.int64),
        np.concatenate([[one.bytes for one in single], *(each.bytes for each in drawn)]).astype(float),
        np.concatenate([[one.popularity for one in single], *(each.popularity for each in drawn)]).astype(float),
        members, tuple(replicas))


def _placed(datasets: list[Dataset], scenario: Scenario) -> list[PlacedReplica]:
    """The replicas of single datasets, as they are written."""
    sites, storages = list(scenario.grid.sites), list(scenario.grid.storages)
    found = []
    for number, dataset in enumerate(datasets):
        for replica in dataset.replicas:
            storage = scenario.grid.storages[replica.storage]
            lifetime = np.inf if replica.lifetime is None else replica.lifetime
            found.append((number, sites.index(storage.site), storages.index(replica.storage), replica.part, lifetime,
                          storage.tape, replica.virtual))
    return found


class _Drawn:
    """The datasets of a population; files, bytes, popularity: (n,) each."""

    def __init__(self, name: str, population: Population, scenario: Scenario):
        self.name, self.population, self.scenario, self.key = name, population, scenario, key_of("/data/" + name)
        self.rank = np.arange(1, population.datasets + 1)
        seed = scenario.seed
        self.files = draw_number(population.files, seed, self.key, self.rank, _FILES, DRAW)
        self.bytes = self.files * draw(population.file_size, seed, self.key, self.rank, _FILE_SIZE, DRAW)
        self.popularity = self.rank.astype(float)**-population.zipf

    def replicas(self, first: int) -> list[PlacedReplica]:
        """Replicas of the datasets, at sites drawn without repetition by the size of their storage.

        first: number of the first dataset.
        """
        rule, grid = self.population.replicas, self.scenario.grid
        names, sites, weight = holders(grid, rule.where)
        n, storages = min(rule.number, len(sites)), list(grid.storages)
        race = -np.log(self._luck(np.array([key_of(site) for site in names], np.int64))) / weight
        place = np.argsort(race, axis=1, kind="stable")[:, :n]
        further = np.arange(n)
        incomplete = (self._luck(_INCOMPLETE + further) < rule.incomplete) & (further > 0)
        part = np.where(incomplete, _LEAST + (_MOST - _LEAST) * self._luck(_PART + further), 1.0)
        secondary = (self._luck(_SECONDARY + further) < rule.secondary) & (further > 0)
        lifetime = np.where(secondary, rule.lifetime * self._luck(_LIFETIME + further), np.inf)
        stores = grid.data_storages
        own = {site: next((storages.index(name) for name in (grid.sites[site].storage, *(
            name for name, storage in stores.items() if storage.site == site)) if name in stores), -1)
            for site in names}
        return [(first + number, int(sites[k]), own[names[k]], float(part[number, r]), float(lifetime[number, r]),
                 False, False) for number in range(len(place)) for r, k in enumerate(place[number].tolist())]

    def _luck(self, question: np.ndarray) -> np.ndarray:
        """Numbers in (0, 1) for each dataset and each of several questions, (n, n_questions)."""
        return uniforms(self.scenario.seed, DRAW, self.key, self.rank[:, None], question)


def with_sizes(secondaries: Sequence[SecondaryInput], shared: Catalogue) -> list[SecondaryInput]:
    """Secondary datasets of a stream, those of `data` with the number and the mean size of their files."""
    numbers = [None if one.dataset is None else shared.names.index(one.dataset) for one in secondaries]
    return [one if number is None else one.model_copy(update=dict(
        files=int(shared.n_files[number]), file_size=float(shared.bytes[number] / shared.n_files[number])))
            for one, number in zip(secondaries, numbers, strict=True)]


def secondary_lists(scenario: Scenario) -> dict[str, tuple[SecondaryInput, ...]]:
    """Secondary datasets with replicas of their own, by the name of the stream whose tasks read them; in a world the
    list in place k has number k + 1."""
    found = {stream.name: tuple(one for one in stream.input.secondaries if one.dataset is not None)
             for stream in scenario.workload.streams if stream.input is not None}
    return {name: secondaries for name, secondaries in found.items() if secondaries}


def datasets_read(shared: Catalogue, dataset: str | None, container: str | None, seed: int, key: int,
                  index: np.ndarray) -> np.ndarray:
    """Number of the dataset that each task of a stream reads, (n,): the one named, or one of a container by popularity.

    key, index: of the stream's draws, and numbers of the tasks in it.
    """
    if dataset is not None:
        return np.full(len(index), shared.names.index(dataset))
    members = shared.members[container or ""]
    weight = np.cumsum(shared.popularity[members])
    luck = uniforms(seed, "task_draw", key, index, _CHOICE)
    return members[np.minimum(np.searchsorted(weight, luck * weight[-1], side="right"), len(members) - 1)]

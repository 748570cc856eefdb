"""Network data of the brokers: files waiting on each link, and throughput of the last hour, day and week.

Queued files are as old as the job statistics, averages as old as the last reading of the throughput. The throughput of
a link is the mean over files of size over duration of the transfer, as FTS reports it; source: PanDA brokerage
documentation, Network Weight; brokerage reference, section 7; formats reference, section 5.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker import views
from simgrid_broker.compiled import compiled
from simgrid_broker.schema import LINKS
from simgrid_broker.units import DAY, HOUR, MB, WEEK
from simgrid_broker.world.arrays import Arrays

WINDOWS = {"mbps_hour": HOUR, "mbps_day": DAY, "mbps_week": WEEK}
"""Column of `views.LINK` to the length of its window, s; source: PanDA brokerage documentation, Network Weight."""


class Reading(NamedTuple):
    """Counters at one time of the links that moved files since the previous reading, (k,) each."""

    taken_at: float
    links: np.ndarray
    files: np.ndarray
    rates: np.ndarray


class Window:
    """The counters of all links at the start of a window of `length_s` seconds.

    files: (n_links,) delivered; rates: (n_links,) sum of their mean rates, bytes/s; n_readings: readings included.
    """

    def __init__(self, length_s: float, n_links: int):
        self.length_s = length_s
        self.files, self.rates = np.zeros(n_links, np.int64), np.zeros(n_links)
        self.n_readings = 0

    def take(self, reading: Reading) -> None:
        """Advance the counters to the next reading."""
        self.files[reading.links], self.rates[reading.links] = reading.files, reading.rates
        self.n_readings += 1


@compiled
def copy_queues(links, table, mapped, nuclei):
    """Copy the files that wait on each link to a nucleus to table[destination, source], if the source is `mapped`."""
    n = len(mapped)
    for destination in nuclei:
        for source in range(n):
            if mapped[source]:
                link, row = links[source * n + destination], table[destination, source]
                row["queued_files"] = link["queued_output"]
                row["queued_express"] = link["queued_express"]


class NetworkMetrics:
    """Records of all links, as `views.LINK`.

    table: (n_sites + 1, n_sites), [destination, source]; the last row, without a destination, is unknown. What brokers
    make of them for a nucleus, until they change: ways, (n_sites + 1, n_queues); waiting, (n_sites + 1, 2) files of all
    sites that wait for it, without and of express tasks; ways_known: (n_sites + 1,) whether that was done; version:
    grows whenever they are forgotten.
    """

    def __init__(self, arrays: Arrays):
        n = len(arrays.sites)
        self.table = views.records(views.LINK, n * (n + 1)).reshape(n + 1, n)
        self.readings: list[Reading] = []
        self.windows = {column: Window(length_s, n * n) for column, length_s in WINDOWS.items()}
        self.latest = Window(0.0, n * n)
        self.ways = np.empty((n + 1, len(arrays.queues)), views.LINK)
        self.waiting, self.ways_known, self.version = np.zeros((n + 1, 2)), np.zeros(n + 1, bool), 0
        self.mapped, self.nuclei = arrays.sites["storage"] >= 0, np.flatnonzero(arrays.sites["nucleus"])
        self.all_known = False
        for column in LINKS.seen:
            self._set(column.name, arrays.links[column.name], views.UNKNOWN.get(column.name, 0))
        self._know()

    def read_queues(self, arrays: Arrays) -> None:
        """Read the numbers of output files that wait or move on each link to a nucleus."""
        copy_queues(arrays.links, self.table, self.mapped, self.nuclei)
        self._know()

    def read_throughput(self, arrays: Arrays, now: float) -> None:
        """Average the throughput of each link over every window that ends now; NaN without arrivals.

        A window begins at the latest reading that is at least as old as its length; before the first, the counters are
        0.
        """
        links, latest = arrays.links, self.latest
        moved = np.flatnonzero(links["files_done"] != latest.files).astype(np.int32)
        self.readings.append(Reading(now, moved, links["files_done"][moved], links["rate_sum"][moved]))
        latest.take(self.readings[-1])
        for column, window in self.windows.items():
            self._begin(window, now - window.length_s)
            arrived = latest.files - window.files
            mean = np.full(len(links), np.nan)
            np.divide(latest.rates - window.rates, arrived * MB, out=mean, where=arrived > 0)
            self._set(column, mean, np.nan)
        self._know()

    def forget_ways(self) -> None:
        """Note that `ways` have changed."""
        self.ways_known[:] = False
        self.version += 1

    def learn(self, source: int, destination: int, columns: dict) -> None:
        """Set known columns of `views.LINK` of one link; ignored if the source has no storage."""
        if self.mapped[source]:
            for name, value in columns.items():
                self.table[name][destination, source] = value
            self.table["known"][destination, source] = True

    def throughput(self, links: np.ndarray) -> np.ndarray:
        """Average of the last hour of some links, (k,) numbers, MB/s."""
        source, destination = np.divmod(links, self.table.shape[1])
        return self.table["mbps_hour"][destination, source]

    def _begin(self, window: Window, then: float) -> None:
        """Move the start of a window to `then`, and drop readings that every window includes."""
        dropped = self.latest.n_readings - len(self.readings)
        for reading in self.readings[window.n_readings - dropped:]:
            if reading.taken_at > then:
                break
            window.take(reading)
        del self.readings[:min(other.n_readings for other in self.windows.values()) - dropped]

    def _set(self, column: str, values: np.ndarray, unmapped) -> None:
        """Fill a column from values by link; links from sites without storage stay unknown to brokers."""
        n = len(self.mapped)
        self.table[column][:n] = values.reshape(n, n).T
        if not self.mapped.all():
            self.table[column][:n, ~self.mapped] = unmapped

    def _know(self) -> None:
        """Mark the links that have a record: a closeness, an average, or waiting files; forget `ways`."""
        self.forget_ways()
        rows = self.table[:-1]
        if not self.all_known:
            rows["known"] |= ((rows["closeness"] != views.UNKNOWN["closeness"]) | (rows["queued_files"] > 0)
                              | (rows["queued_express"] > 0) | ~np.isnan(rows["mbps_week"]))
            self.all_known = bool(rows["known"].all())

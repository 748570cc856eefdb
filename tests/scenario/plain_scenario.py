"""A small scenario in which nothing is wrong, as text and as values, for tests that change one thing."""

from simgrid_broker.scenario.loading.documents import read_yaml

PLAIN = """\
name: plain
duration: 2 days
grid:
  sites:
    CERN-PROD: {tier: 0, cores: 1000, nucleus: true}
    BNL: {tier: 1, cores: 500}
  queues:
    CERN: {atlas_site: CERN-PROD, maxrss: 16 GB, maxtime: 96h}
    BNL_PROD: {atlas_site: BNL}
  storages:
    CERN-PROD_DATADISK: {site: CERN-PROD, total: 10 PB, free: 1 PB, read_wan: ON}
  links:
    default: {bandwidth: 10 Gb/s}
    pairs:
      - {source: CERN-PROD, destination: BNL, bandwidth: 100 Gb/s}
shares:
  - name: Production
    value: 80
    children:
      - {name: MC simul, value: 60, prodsourcelabel: managed, processingtype: simul}
      - {name: Other, value: 40, prodsourcelabel: managed}
  - {name: Analysis, value: 20, prodsourcelabel: user}
gdpconfig:
  NQUEUED_NUC_CAP: 200
  DISK_THRESHOLD_MC simul: 50
workload:
  campaigns:
    - {name: mc, hs06sec_per_event: 1000, offered_cores: 800}
incidents:
  - {at: 12h, what: site_outage, site: BNL, until: 18h}
"""


def plain_values() -> dict:
    """The plain scenario as values."""
    return read_yaml(PLAIN, None).values


def line_of(text: str, part: str) -> int:
    """Number of the first line of `text` that holds `part`."""
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)

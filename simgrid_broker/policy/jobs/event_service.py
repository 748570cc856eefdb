"""Limits of gdpconfig for consumers of event service; source: lifecycle reference, 6.2."""

from simgrid_broker.gdpconfig import pandaserver_dbproxy
from simgrid_broker.views import Gdpconfig


def fewest_ranges(cfg: Gdpconfig) -> int | None:
    """Event ranges below which a retry goes to a single-core queue; None = the cores of its queue alone."""
    return cfg.value(pandaserver_dbproxy.AES_MINEVENTSFORMCORE)

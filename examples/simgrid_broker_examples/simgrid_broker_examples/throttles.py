"""A throttle that builds on the package's own."""

from simgrid_broker.policy.tasks.throttle import Throttle, throttle


def gentle(counts, limits, core_type=None, share=None) -> Throttle:
    """PanDA's job throttler with half the jobs in a cycle."""
    decision = throttle(counts, limits, core_type, share)
    return decision._replace(max_jobs=decision.max_jobs // 2)

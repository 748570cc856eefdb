"""Options of a PanDA queue in `params` and `catchall` that have a value.

What lives here: finding the value. What does not: what an option does (world, policy).
"""

NUMBERS = ("max_io_intensity", "minEventsForJumbo", "jobChunkSize", "nStandby")
"""Options that are numbers, from 0 up."""


def option_value(queue, key: str) -> str | None:
    """Value of `key` in `params`, else in `catchall` (key=value), None if neither has it (formats reference, 1.4)."""
    if key in queue.params:
        return str(queue.params[key])
    items = (item.partition("=") for item in queue.catchall.split(","))
    return next((value.strip() for name, sign, value in items if sign and name.strip() == key), None)


def option_number(queue, key: str, default: float) -> float:
    """Value of an option that is a number from 0 up; the default if it is not given, or no such number."""
    try:
        found = float(option_value(queue, key) or "")
    except ValueError:
        return default
    return found if 0 <= found < float("inf") else default

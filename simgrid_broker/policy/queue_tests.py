"""Status of a queue by its functional tests; thresholds are scenario values, as no public source gives them."""

from collections.abc import Sequence

from simgrid_broker.names import QueueStatus


def status_after(outcomes: Sequence[bool], status: QueueStatus, set_aside: bool, failures: int,
                 successes: int) -> QueueStatus | None:
    """New status of a queue by the outcomes of its tests, the last one last; None = it stays.

    A queue that is online is set to test after so many failures in a row; one that was set aside so, and is in test
    still, is online again after so many successes in a row. What operators have set otherwise stays.
    """
    if status == QueueStatus.ONLINE and len(outcomes) >= failures and not any(outcomes[-failures:]):
        return QueueStatus.TEST
    if status == QueueStatus.TEST and set_aside and len(outcomes) >= successes and all(outcomes[-successes:]):
        return QueueStatus.ONLINE
    return None

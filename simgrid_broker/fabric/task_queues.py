"""Jobs in DIRAC's task queues: in each a list by age, of which a draw takes one of the oldest.

The list is threaded through a table with the columns panda_id, sibling (the next younger one) and previous.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.task_queue_draw import enter_draw, leave_draw


@compiled
def put_waiting(draw, nodes, number, row):
    """Put a job into a task queue, by age; jobs mostly come in that order."""
    queue, node = draw.task_queues[number], nodes[row]
    before, after = queue["tail"], -1
    while before >= 0 and nodes[before]["panda_id"] > node["panda_id"]:
        before, after = nodes[before]["previous"], before
    node["previous"], node["sibling"] = before, after
    if before < 0:
        queue["head"] = row
    else:
        nodes[before]["sibling"] = row
    if after < 0:
        queue["tail"] = row
    else:
        nodes[after]["previous"] = row
    queue["n_jobs"] += 1
    if queue["n_jobs"] == 1:
        enter_draw(draw, number)


@compiled
def stop_waiting(draw, nodes, number, row):
    """Take a job out of any place of a task queue; an empty one leaves the draw."""
    queue, before, after = draw.task_queues[number], nodes[row]["previous"], nodes[row]["sibling"]
    if before < 0:
        queue["head"] = after
    else:
        nodes[before]["sibling"] = after
    if after < 0:
        queue["tail"] = before
    else:
        nodes[after]["previous"] = before
    queue["n_jobs"] -= 1
    if queue["n_jobs"] == 0:
        leave_draw(draw, number)


@compiled
def one_of_the_oldest(draw, nodes, number, window, luck):
    """Row of one of the `window` oldest jobs of a task queue; luck: uniform number. DIRAC reference, section 10."""
    queue = draw.task_queues[number]
    row = queue["head"]
    for _ in range(int(luck * min(queue["n_jobs"], window))):
        row = nodes[row]["sibling"]
    return row

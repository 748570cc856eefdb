"""Share tree, order of the shares, and their ranks in dispatch."""

from panda_cases.layout import OF_SHARES, complete
from panda_cases.shares import tree_and_usage
from simgrid_broker.policy.shares.dispatch import GLOBAL_SHARES, share_ranks


def answer(case: dict) -> dict:
    """Order and normalised values of the leaves, and their ranks; shares outside the table are left out."""
    case = complete(case, OF_SHARES)
    tree, used, leaves = tree_and_usage(case["shares"], case["hs_distribution"])
    of_table = {row["name"] for row in case["shares"]}
    order = GLOBAL_SHARES.shares(tree, used)
    ranks = share_ranks(tree, order, case["edition"])
    return {"order": [leaves[k] for k in order if leaves[k] in of_table],
            "dispatch_rank": {leaves[k]: int(ranks[k]) for k in order if leaves[k] in of_table},
            "normalised": {leaves[k]: float(tree.value[tree.leaves[k]]) for k in order if leaves[k] in of_table}}

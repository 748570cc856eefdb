"""Global shares: the leaf of a task, targets and use, and the orders in which jobs are dispatched by them."""

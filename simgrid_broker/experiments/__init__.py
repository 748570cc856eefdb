"""Studies of many runs: replications, comparisons, sweeps, sensitivity and tuning, with errors on every figure."""

"""Data in the data plane: transfers, the links that they share, the input and the output of jobs."""

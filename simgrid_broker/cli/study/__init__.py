"""Commands that run studies: replicates, sweeps, searches, calibrations, with their options and progress."""

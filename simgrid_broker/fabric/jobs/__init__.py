"""Jobs in the data plane: made and set up, activated, ended, retried, timed out."""

"""Rules about single jobs: resources that they ask for, limits of time, retries and rebrokerage."""

"""Rules about tasks and jobs of users: caps, boosts and throttling, classes of tasks and sites."""

"""The run itself: tasks and incidents come at their times; samples and snapshots are taken."""

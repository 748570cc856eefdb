"""Users: classes of their tasks and queues, caps and boosts."""

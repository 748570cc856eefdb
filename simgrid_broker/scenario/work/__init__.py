"""Work of a scenario: its keys, and the tasks that are drawn from them."""

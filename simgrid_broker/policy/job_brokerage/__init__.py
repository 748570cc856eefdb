"""Production job brokerage: from a task to the queues that its jobs go to.

What lives here: the case (`case`), the rules (`preliminary`, `candidates`, `connectivity`, `software`, `requirements`,
`load`), the chain of each edition (`editions`), the decision (`broker`) and the draw (`selection`). What does not:
making jobs.
"""

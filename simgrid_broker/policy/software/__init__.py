"""Releases, containers, CPUs and GPUs: what a task needs, and whether a queue has it.

What lives here: the grammar of the task parameter `architecture` (`architecture`, checked strictly by `strict`),
versions (`versions`), regular expressions (`patterns`), the hardware of a queue (`hardware`) and the check of a whole
queue (`check`). What does not: the criteria of job brokerage that ask (`job_brokerage.software`).
"""

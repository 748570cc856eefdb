"""Task brokerage: from a task to the nucleus that collects its output.

What lives here: the case (`case`), the criteria (`nuclei`, `locality`, `full_chain`) and how they are asked (`walk`),
the weight (`weight`), the chain of each edition (`editions`), the decision and the draw (`broker`). What does not: the
job brokerage that PanDA runs in between.
"""

"""The decision of analysis brokerage, written as source text out of its tuple of rules, as that of production is."""

from collections.abc import Callable, Sequence

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis import decide
from simgrid_broker.policy.brokerage.analysis.question import Candidate
from simgrid_broker.policy.brokerage.production.compose import function_of, named

FRAME = (decide.begin, decide.stop, decide.enter, decide.count_left, decide.number_all, decide.take_up, decide.choose)
ARGUMENTS = ", ".join(Candidate._fields)
TEXT = '''\
"""A decision of analysis brokerage, written by `simgrid_broker.policy.brokerage.analysis.compose`; a change is lost.

{calls}
"""


@compiled
def gate(tables):
    """Ask the rules of the gate; returns whether one ended the attempt, which is entered."""
    task, user = tables.task[0], tables.owner[0]
{gate}
    return False


@compiled
def refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def problem({arguments}, numbers, first, tables, k):
    """Smallest rank at which a criterion that needs job numbers refuses a candidate, if below `first`."""
{problems}
    return first


@compiled
def look(tables):
    """One loop: enter the rank of the first rule that refuses each candidate; returns how many are left, and the last.
    """
    task, terms = tables.task[0], tables.terms[0]
    for k in range(len(tables.queues)):
        first = tables.first[k]
        if first > terms["least"]:
            queue = tables.queues[k]
            place = queue["queue"]
            load, user, store, data = tables.load[place], tables.user[place], tables.store[place], tables.data[place]
            first = refusal({arguments}, first, tables, k)
        tables.rank[k] = first
    number_all(tables)
{lists}
    for k in range(len(tables.queues)):
        if tables.rank[k] == terms["never"]:
            queue = tables.queues[k]
            place = queue["queue"]
            load, user, store, data = tables.load[place], tables.user[place], tables.store[place], tables.data[place]
            tables.problem[k] = problem({arguments}, tables.numbers[k], terms["never"], tables, k)
            if not terms["marks"]:
                tables.rank[k] = tables.problem[k]
                tables.problem[k] = terms["never"]
{late_lists}
    return count_left(tables)


@compiled
def decision(tables):
    """Refuse, weigh and rank the candidates; returns the number of candidates in `tables.best`."""
    begin(tables)
    if gate(tables):
        return 0
    task, terms, n_with_data, failed = tables.task[0], tables.terms[0], -1, False
    for loop in range(terms["first_loop"], terms["first_loop"] + terms["n_loops"]):
        task["with_locality"] = loop == 0
        left, last = look(tables)
        tables.ended[0] = last
        if left == 0:
            failed = True
            if not terms["marks"] and last >= terms["passing"]:
                return enter(tables, 0)
            continue
        n_listed = take_up(tables)
        n_with_data = n_listed if n_with_data < 0 else n_with_data
        if n_listed >= task["n_sites_per_job"]:
            failed = False
            break
    if failed:
        return enter(tables, 0)
    for k in range(len(tables.queues)):
        tables.rank[k] = terms["never"] if tables.listed[k] else tables.rank[k]
{factors}
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            tables.weight[k] = {product}
    return enter(tables, choose(tables, n_with_data))
'''
REFUSAL = '''\
    if tables.ranks[{number}] < first:
        refuses, value, limit = {name}({arguments})
        if refuses:
            first, tables.value[k], tables.limit[k] = tables.ranks[{number}], value, limit'''

GATE = '''\
    refuses, value, limit = {name}(task, user)
    if refuses:
        stop(tables, {number}, value, limit)
        return True'''


def composed(gate: Sequence[Callable], criteria: Sequence[Callable], lists: Sequence[Callable],
             problems: Sequence[Callable], late_lists: Sequence[Callable], factors: Sequence[Callable]) -> Callable:
    """The decision over these rules, a function of `decide.Tables`, whose ranks are in the order of the arguments.

    gate: about the attempt; criteria: about one candidate; lists: about the list; problems: about one candidate with
    its job numbers; late_lists: about the list with its problems. It is compiled if all rules are, and runs as it
    stands otherwise.
    """
    asked = (*criteria, *lists, *problems, *late_lists, *factors, *gate)
    names, begins, parts = named(asked), 0, []
    for part in (criteria, lists, problems, late_lists, factors, gate):
        parts.append([(begins + k, names[begins + k]) for k in range(len(part))])
        begins += len(part)
    of_one, of_list, of_numbers, of_late, weighing, of_attempt = parts
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for name, rule in zip(names, asked, strict=True)]
    text = TEXT.format(
        arguments=ARGUMENTS, calls="\n".join(calls),
        gate="\n".join(GATE.format(number=k, name=name) for k, (_, name) in enumerate(of_attempt)),
        refusals=_refusals(of_one, ARGUMENTS), problems=_refusals(of_numbers, f"{ARGUMENTS}, numbers"),
        lists=_calls(of_list), late_lists=_calls(of_late),
        factors="\n".join(f"    {name}(tables, {k})" for k, (_, name) in enumerate(weighing)),
        product=" * ".join(f"tables.factors[{k}, k]" for k in range(len(weighing))))
    is_compiled = all(hasattr(rule, "py_func") for rule in asked)
    frame = FRAME if is_compiled else [getattr(function, "py_func", function) for function in FRAME]
    known: dict[str, object] = {function.__name__: function for function in frame}
    known |= dict(zip(names, asked, strict=True))
    return function_of(text, known | {"compiled": compiled if is_compiled else lambda function: function})


def _refusals(rules: Sequence[tuple[int, str]], arguments: str) -> str:
    """Lines that ask rules about one candidate."""
    return "\n".join(REFUSAL.format(number=k, name=name, arguments=arguments) for k, name in rules)


def _calls(rules: Sequence[tuple[int, str]]) -> str:
    """Lines that ask rules about the list."""
    return "\n".join(f"    {name}(tables, tables.ranks[{k}])" for k, name in rules)

"""The words in the package, its messages, documents, scenarios and scripts are plain English."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from sources import nodes

ROOT = Path(__file__).parents[1]

BANNED = {
    r"\bin vain\b": "name the result: without a candidate, lost",
    r"\banew\b": "again, or name the action: repeat, recount",
    r"\bso long\b": "write the meaning of the number: within this time",
    r"\bnobody\b|\bsomebody\b|\bwhoever\b": "name the condition or the actor",
    r"\bstands? for\b": "is, means, counts as, placeholder for",
    r"\bhangs? on\b": "depends on, is keyed by",
    r"\blet go\b": "release",
    r"\breckoned\b": "estimated, counted",
    r"\bwhat (lives|does not live) (here|there)\b": "drop it, or say what the name does not",
    r"\bbeside (that|those)\b": "in addition to, next to",
    r"(?<!there )\b(?-i:is none)\b": "name the value: empty, missing, unknown, not ...",
}
"""Patterns of translated English, with what to write instead."""

GENERATED = re.compile(r"<!-- begin of what .*?<!-- end of it -->|"
                       r"\A# [^\n]*\n\nWritten by `scripts/write_reference\.py`.*", re.DOTALL)
"""Text of documents that is made from sources, which are checked themselves."""


VAGUE = re.compile(r"(What|Whether|How|Those|The same)\b")
"""First words of a docstring that leave the noun or the verb to the end of the sentence."""


def files():
    """Every file that a user or developer reads, tests aside."""
    yield ROOT / "README.md"
    for folder, pattern in (("simgrid_broker", "**/*.py"), ("docs", "**/*.md"), ("scenarios", "*"), ("scripts", "*.*"),
                            ("results", "README.md"), ("examples", "**/*.*")):
        yield from sorted(path for path in (ROOT / folder).glob(pattern)
                          if path.suffix in (".py", ".md", ".yaml", ".sh", ".toml"))


def words(path):
    """Line number and text of everything in a file that is read as language: comments and strings of programs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        text = GENERATED.sub(lambda made: "\n" * made[0].count("\n"), text)
        return list(enumerate(text.split("\n"), 1))
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return [(token.start[0] + offset, line) for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in kinds for offset, line in enumerate(token.string.split("\n"))]


def findings(path):
    """What is banned in a file, with place and advice."""
    return [f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: {advice}" for number, line in words(path)
            for pattern, advice in BANNED.items() for found in [re.search(pattern, line, re.IGNORECASE)] if found]


def test_no_banned_pattern_is_used():
    problems = [problem for path in files() for problem in findings(path)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(("text", "line"), [
    pytest.param('"""Ask\n\nanew."""\n', 3, id="docstring"),
    pytest.param("x = 1  # reckoned\n", 1, id="comment"),
    pytest.param('y = f"{x} jobs waited in vain"\n', 1, id="message"),
])
def test_a_banned_pattern_is_found_with_its_line(tmp_path, monkeypatch, text, line):
    path = tmp_path / "module.py"
    path.write_text(text)
    monkeypatch.setitem(findings.__globals__, "ROOT", tmp_path)
    assert [problem.split(":")[1] for problem in findings(path)] == [str(line)]


def test_names_in_programs_are_not_language(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("anew = None\nif anew is None:\n    pass\n")
    assert words(path) == []


def docstrings(nodes):
    """Line number and text of the docstrings of a module, its classes, functions, constants and fields."""
    for holder in nodes:
        if isinstance(holder, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for before, node in zip([holder, *holder.body], holder.body, strict=False):
                text = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
                variable = isinstance(before, (ast.Assign, ast.AnnAssign)) and not hasattr(holder, "args")
                if isinstance(text, str) and (before is holder or variable):
                    yield node.lineno, text


def vague_docstrings(path, nodes):
    """Place and first line of the docstrings among the nodes of a module that begin with a vague word."""
    return [f"{path}:{line}: {text.splitlines()[0]}" for line, text in docstrings(nodes) if VAGUE.match(text)]


def test_docstrings_begin_with_the_noun_or_the_verb():
    vague = [place for path, found in nodes().items() for place in vague_docstrings(path, found)]
    assert not vague, "\n".join(vague)


def test_a_vague_docstring_is_found_wherever_it_describes_something():
    tree = ast.parse('''"""What is here."""\nLIMIT = 3\n"""How many."""\n
class Job:\n    """Those that wait."""\n    place: int\n    """The same place."""\n
    def waits(self):\n        """Whether it waits."""\n        x = 3\n        "What is no docstring"\n        return x\n
def whatever():\n    """Whatever it is, a sameness."""\n''')
    lines = [place.split(": ", 1)[1] for place in vague_docstrings("module.py", ast.walk(tree))]
    assert sorted(lines) == ["How many.", "The same place.", "Those that wait.", "What is here.", "Whether it waits."]

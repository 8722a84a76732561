"""Commands that README and docs show must exist: verbs, options, models, their settings, data sets, experiments."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from gossamer.cli.app import app
from gossamer.cli.options import parse_settings
from gossamer.datasets import catalogue as data_sets
from gossamer.models import catalogue
from gossamer.runner.experiment import find_experiments
from gossamer.runner.source import is_file

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (gossamer .*)$", re.MULTILINE)

VERBS = typer.main.get_command(app)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words after `gossamer` of every command that a page shows, fenced as console or indented."""
    lines = [line[2:] for block in CONSOLE.findall(text) for line in block.splitlines() if line.startswith("$ ")]
    lines += INDENTED.findall(FENCED.sub("", text))
    for line in lines:
        words = shlex.split(line, comments=True)
        for start in [place for place, word in enumerate(words) if word == "gossamer"]:
            if start == 0 or words[start - 1] in ("&&", ";") or "=" in words[start - 1]:
                rest = words[start + 1 :]
                ends = [place for place, word in enumerate(rest) if word in ("&&", ";", "|", "&", ">")]
                yield rest[: min(ends, default=len(rest))]


def check(words: list[str]) -> None:
    """Parse a command as the command line would, and look up what it names."""
    command, rest = VERBS, words
    while hasattr(command, "commands"):
        if rest and rest[0] in ("--help", "-h"):
            return
        assert set(rest[:1]) & set(command.commands), f"{' '.join(words)}: {rest[:1]} is not a verb"
        name, rest = rest[0], rest[1:]
        command = command.commands[name]
    context = command.make_context(name, list(rest))  # unknown options and missing arguments end here
    given = context.params
    if name in ("fit", "tune"):
        arguments = inspect.signature(catalogue.find(given["model"])).parameters
        assert set(parse_settings(given.get("settings"))) <= set(arguments), f"{' '.join(words)}: no such setting"
    data = given.get("data")
    if isinstance(data, str) and not is_file(data) and ":" not in data:
        assert data in data_sets.available(), f"{' '.join(words)}: {data} is not a data set"
    if name == "reproduce" and given["name"] is not None and not given["name"].endswith(".toml"):
        assert given["name"] in find_experiments(), f"{' '.join(words)}: no such experiment"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_pages_exist(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        check(words)


def test_commands_are_found_in_pages() -> None:
    shown = "```console\n$ make demo\n$ X=1 gossamer fit ease --out m && gossamer demo\n```\n"
    shown += "\n    gossamer data list  # all\n"
    assert list(commands(shown)) == [["fit", "ease", "--out", "m"], ["demo"], ["data", "list"]]
    assert sum(len(list(commands(page.read_text(encoding="utf-8")))) for page in PAGES) > 60


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("fitt ease", "not a verb"),
        ("fit ease --data stdlib-usage --outt m", "(?i)no such option"),
        ("fit eese --data stdlib-usage --out m", "model must be one of"),
        ("fit ease --data stdlib-usage --out m --set regularisation=1", "no such setting"),
        ("fit ease --data stdlib-use --out m", "not a data set"),
        ("reproduce no-such-experiment", "no such experiment"),
    ],
)
def test_a_command_that_does_not_exist_is_found(wrong: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        check(wrong.split())

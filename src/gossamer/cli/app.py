"""The `gossamer` command: its verbs, and how errors reach a person."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

import typer

from gossamer.cli import (
    compare,
    compress,
    data,
    demo,
    evaluate,
    export,
    fit,
    inspect,
    predict,
    recommend,
    reproduce,
    serve,
    tune,
    version,
)
from gossamer.cli.several import check_verb, last_word, only_the_first_speaks

app = typer.Typer(
    name="gossamer",
    help="Learn, shrink, explain and ship sparse representations of discrete things.",
    epilog="Start with [bold]gossamer demo[/bold]: no download, a minute or two at first, ends in a report.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")
VERBS = (fit, evaluate, predict, recommend, inspect, compare, tune, compress, export, serve, reproduce, demo, version)
for verb in VERBS:
    app.command(verb.__name__.rsplit(".", 1)[1], epilog=verb.EXAMPLES)(verb.run)

MISTAKE, BUG, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 a mistake of the user's, 130 interrupted, 1 a bug of ours."""
    debug = os.environ.get("GOSSAMER_DEBUG", "") not in ("", "0")
    logging.basicConfig(level=logging.INFO if debug else logging.WARNING, format="%(levelname)s: %(message)s")
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        from gossamer.core.progress import show_progress

        check_verb(words)
        with show_progress(sys.stderr.isatty()), only_the_first_speaks():
            app(args=words, prog_name="gossamer")
    except SystemExit as done:
        if done.code == INTERRUPTED:  # typer's own answer to a KeyboardInterrupt inside a verb
            _say("interrupted", of_all=True)
        raise
    except KeyboardInterrupt:
        _say("interrupted", of_all=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        # A missing extra says how to install it; any other failed import is ours.
        if isinstance(error, ValueError | OSError | FloatingPointError) or "pip install" in str(error):
            _say(str(error) or type(error).__name__)
            sys.exit(MISTAKE)
        _say(f"this is a bug in gossamer: {type(error).__name__}: {error}; set GOSSAMER_DEBUG=1 to see where")
        sys.exit(BUG)


def _say(sentence: str, *, of_all: bool = False) -> None:
    word = last_word(sentence, of_all=of_all)
    if word is not None:
        print(f"gossamer: {word}", file=sys.stderr)

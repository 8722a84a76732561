"""Command lines as torchrun starts them, one after the other, with "--then" between them.

With --astray before all of them, process 1 is in a folder without the data; with --fail N it fails in update N, with
--interrupt N it presses Ctrl-C there: torchrun gets the signal, as from a terminal.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from gossamer.cli.app import main


def disturb(kind: str, update: int) -> None:
    """Let process 1 fail, or interrupt all, in an update."""
    from gossamer.training import GradientStep

    undisturbed = GradientStep.__call__
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background have it ignored

    def disturbed(step: GradientStep, batch: object, weight: float) -> object:
        if step.num_updates == update - 1 and os.environ["RANK"] == "1":
            if kind == "--fail":
                raise OSError("the disk is full")
            os.kill(os.getppid(), signal.SIGINT)
        if kind == "--interrupt" and step.num_updates >= update - 1:
            time.sleep(0.5)  # until torchrun has passed it on
        return undisturbed(step, batch, weight)

    GradientStep.__call__ = disturbed  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[0] == "--astray":
        arguments = arguments[1:]
        if os.environ["RANK"] == "1":
            os.mkdir("elsewhere")
            os.chdir("elsewhere")
    elif arguments[0] in ("--fail", "--interrupt"):
        disturb(arguments[0], int(arguments[1]))
        arguments = arguments[2:]
    while "--then" in arguments:
        place = arguments.index("--then")
        try:
            main(arguments[:place])
        except SystemExit as done:
            if done.code:
                raise
        arguments = arguments[place + 1 :]
    main(arguments)

"""Command lines as torchrun starts them, one after the other, with "--then" between them.

With --astray before all of them, process 1 is in a folder without the data.
"""

from __future__ import annotations

import os
import sys

from gossamer.cli.app import main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[0] == "--astray":
        arguments = arguments[1:]
        if os.environ["RANK"] == "1":
            os.mkdir("elsewhere")
            os.chdir("elsewhere")
    while "--then" in arguments:
        place = arguments.index("--then")
        try:
            main(arguments[:place])
        except SystemExit as done:
            if done.code:
                raise
        arguments = arguments[place + 1 :]
    main(arguments)

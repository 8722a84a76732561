"""`python -m gossamer.cli` does what the `gossamer` command does."""

from gossamer.cli.app import main

if __name__ == "__main__":
    main()

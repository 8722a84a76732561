"""`gossamer version`."""

from __future__ import annotations

import platform

import typer

from gossamer.version import __version__

EXAMPLES = "Example: [bold]gossamer version[/bold]"


def run() -> None:
    """Print the version of gossamer and of Python."""
    typer.echo(f"gossamer {__version__} (Python {platform.python_version()})")

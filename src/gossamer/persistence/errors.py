"""The one error of this room."""

from __future__ import annotations


class ArtifactError(ValueError):
    """An artifact cannot be read or written; the message names the file, what is wrong and what to do."""

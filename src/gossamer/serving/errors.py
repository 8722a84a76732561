"""What a question can end in, beside an answer."""

from __future__ import annotations


class NotFound(LookupError):
    """The model, user or item that was asked for is not there; the message says which."""


class CannotAnswer(ValueError):
    """The model is there, but does not do what it was asked to do."""


class Busy(RuntimeError):
    """More questions are waiting than will be answered in time; ask again."""

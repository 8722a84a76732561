"""What the explorer refuses."""


class NotKnownError(LookupError):
    """A model, name, group or run that was asked for does not exist; the message says so in a sentence."""

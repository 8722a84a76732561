"""What a server allows, in one place."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass

from gossamer.core.checks import check_int, check_real

# Of one question; the schema has them, so that a client can know.
MOST_ITEMS = 1_000
MOST_HISTORY = 10_000
MOST_ROWS = 256
MOST_NUMBERS = 100_000  # of a row
MOST_STEPS = 10_000  # one thread runs through a series step by step, and others wait for it
LONGEST_ID = 512


@dataclass(frozen=True)
class Settings:
    """Limits of a server: `token` None lets everybody in, `reload_seconds` 0 never looks for replaced artifacts.

    A question waits at most `wait_seconds` for others that the model can answer with it, `max_batch` at most;
    `max_waiting` may wait at a time, and none may take longer than `time_limit` seconds.
    """

    token: str | None = None
    max_body: int = 1 << 20
    time_limit: float = 10.0
    max_batch: int = 64
    max_waiting: int = 1_024
    wait_seconds: float = 0.001
    reload_seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.token is not None and (not self.token or not self.token.isascii() or not self.token.isprintable()):
            raise ValueError("token must be printable ASCII and not empty")
        check_int("max_body", self.max_body, at_least=1)
        check_real("time_limit", self.time_limit, above=0)
        check_int("max_batch", self.max_batch, at_least=1)
        check_int("max_waiting", self.max_waiting, at_least=1)
        check_real("wait_seconds", self.wait_seconds, at_least=0)
        check_real("reload_seconds", self.reload_seconds, at_least=0)

    def as_text(self) -> str:
        """Return everything but the token as text, for the environment of another process."""
        return json.dumps({name: value for name, value in asdict(self).items() if name != "token"})

    @classmethod
    def from_text(cls, text: str, token: str | None) -> Settings:
        """Return what `as_text` gave."""
        return cls(**json.loads(text), token=token)


def check_exposure(host: str, token: str | None, *, is_open: bool = False) -> None:
    """Refuse to be reached from other machines without a token, unless that is said to be meant.

    >>> check_exposure("127.0.0.1", None)
    >>> check_exposure("0.0.0.0", None)
    Traceback (most recent call last):
    ValueError: host must be this machine's own, such as 127.0.0.1, without a token, got '0.0.0.0'; give --token or \
GOSSAMER_TOKEN, or say --without-token
    """
    if token is None and not is_open and not _is_loopback(host):
        raise ValueError(
            f"host must be this machine's own, such as 127.0.0.1, without a token, got {host!r}; "
            "give --token or GOSSAMER_TOKEN, or say --without-token"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

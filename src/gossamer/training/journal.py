"""The training log: one JSON object per line, without duplicates after a resume."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from gossamer.core.atomic import replacing_file, sync_to_disk


class Journal:
    """A JSONL file of step and epoch lines that belongs to one run.

    Lines look like `{"kind": "step", "epoch": 0, "step": 50, "loss": 0.7}` or
    `{"kind": "epoch", "epoch": 0, "step": 100, "loss": 0.6, …}`. A value that is not finite is written as null,
    because JSON has no NaN.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def rewind(self, step: int, epochs: int) -> None:
        """Keep only the lines of the first `step` steps and `epochs` epochs.

        A killed run may have logged more than its last checkpoint knows, and its last line may be cut.
        """
        kept = []
        for line in self.path.read_bytes().splitlines() if self.path.exists() else []:
            try:
                record = json.loads(line)
                wanted = record["epoch"] < epochs if record["kind"] == "epoch" else record["step"] <= step
            except (ValueError, KeyError, TypeError):
                wanted = False
            if wanted:
                kept.append(line + b"\n")
        with replacing_file(self.path) as temporary:
            temporary.write_bytes(b"".join(kept))

    def write(self, kind: str, values: Mapping[str, float]) -> None:
        """Append one line; it is handed to the system at once, so a killed process loses none."""
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **finite}, allow_nan=False) + "\n")

    def sync(self) -> None:
        """Bring every line to disk, so that a checkpoint never knows more than the log."""
        if self.path.exists():
            sync_to_disk(self.path)

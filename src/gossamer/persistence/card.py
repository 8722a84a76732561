"""card.md: what a person should know about a model before using it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence.strict_json import JSON
from gossamer.version import __version__


def model_card(
    cls: type,
    config: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    vocabularies: Mapping[str, Vocabulary],
    directory_name: str,
) -> str:
    """Return the Markdown card of a model, from what its config.json is going to say."""
    summary = (inspect.getdoc(cls) or cls.__name__).splitlines()[0]
    return (
        "\n\n".join(
            [
                f"# {cls.__name__}",
                summary,
                f"Class `{config['class']}`, saved by gossamer {__version__}.",
                "## Load",
                f"```python\nfrom {cls.__module__} import {cls.__name__}\n\n"
                f"model = {cls.__name__}.load({json.dumps(directory_name)})\n```",
                "## Data",
                _table(("what", "value"), config["provenance"].items(), "Not recorded."),
                "## Metrics",
                _table(("metric", "value"), config["metrics"].items(), "Not recorded."),
                "## Arguments",
                _table(("argument", "value"), config["arguments"].items(), "None."),
                "## Size",
                _size(arrays, vocabularies),
            ]
        )
        + "\n"
    )


def _size(arrays: Mapping[str, NDArray[Any]], vocabularies: Mapping[str, Vocabulary]) -> str:
    """Every stored number counts, the indices of sparse matrices too."""
    values = sum(array.size for array in arrays.values())
    num_bytes = sum(array.nbytes for array in arrays.values())
    rows = [
        (name, f"{array.dtype} {'×'.join(map(str, array.shape))}".strip(), f"{array.nbytes:,}")
        for name, array in arrays.items()
    ]
    rows += [(f"ids of {name}", f"{len(vocabulary):,} ids", "") for name, vocabulary in vocabularies.items()]
    return f"{values:,} values in {num_bytes:,} bytes.\n\n" + _table(("part", "content", "bytes"), rows, "")


def _table(header: tuple[str, ...], rows: Any, otherwise: str) -> str:
    lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    if not lines:
        return otherwise
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *lines])


def _cell(value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split()).replace("|", "\\|")

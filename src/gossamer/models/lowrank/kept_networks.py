"""Trained networks kept in a folder: what took minutes to train is not trained again for every budget."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from gossamer.core.atomic import replacing_file
from gossamer.persistence import JSON

logger = logging.getLogger(__name__)
IDENTITY = "identity"


def check_folder(name: str, value: object) -> None:
    """Check the path of a folder, or None; a word without a slash is rather a slip than a folder.

    >>> check_folder("base", "large")
    Traceback (most recent call last):
    ValueError: base must be None or the path of a folder, with a slash in it, such as 'build/networks', got 'large'
    """
    if value is not None and (not isinstance(value, str) or "/" not in value):
        raise ValueError(
            f"{name} must be None or the path of a folder, with a slash in it, such as 'build/networks', got {value!r}"
        )


def train_or_take_(
    network: nn.Module, train: Callable[[], object], folder: str | None, identity: Mapping[str, JSON]
) -> None:
    """Give `network` the weights that are kept in `folder` under the same `identity`, else train it and keep them.

    `identity` is all that the weights depend on: settings, seed and the data's fingerprint. Networks of several
    identities lie in one folder side by side.
    """
    if folder is None:
        train()
        return
    words = json.dumps(identity, sort_keys=True)
    path = Path(folder) / f"{hashlib.sha256(words.encode()).hexdigest()[:20]}.safetensors"
    if path.exists():
        _take_(network, path, words)
        logger.info("took the trained network from %s", path)
        return
    train()
    with replacing_file(path) as temporary:
        tensors = {name: value.detach().contiguous() for name, value in network.state_dict().items()}
        save_file(tensors, str(temporary), metadata={IDENTITY: words})


def _take_(network: nn.Module, path: Path, words: str) -> None:
    try:
        with safe_open(str(path), framework="pt") as file:
            found = (file.metadata() or {}).get(IDENTITY)
            tensors = {name: file.get_tensor(name) for name in file.offset_keys()}
        network.load_state_dict(tensors)
    except (SafetensorError, RuntimeError, OSError) as error:
        raise ValueError(f"{path} must hold the network that was kept there, got: {error}; delete the file") from None
    if found != words:
        raise ValueError(f"{path} must be of the network {words}, got one of {found}; delete the file")

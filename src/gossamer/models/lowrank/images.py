"""From raw inputs to what a network was trained on, and the augmentation that its statistics belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.remembering import remembered

PREPARATIONS = ("columns", "standard", "whitened")
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONTRAST = 55.0  # the norm that images have before whitening, as the NIN's authors have it
WHITENING_RIDGE = 0.1
BORDER = 4
AUGMENTATIONS = ("full", "flip", "none")


@dataclass(frozen=True)
class Preparation:
    """How inputs become the network's: `mean` is removed, then divided by `scale` or multiplied with a `whitening`.

    "columns" standardises each column; "standard" takes bytes to [0, 1] and removes ImageNet's mean; "whitened" removes
    every image's own mean, scales it to norm 55, and decorrelates pixels (ZCA) as in the training images.
    """

    kind: str
    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    whitening: Float[np.ndarray, "D D"] | None = None

    @classmethod
    def fit(cls, kind: str, inputs: np.ndarray) -> Preparation:
        """Learn from training inputs (N, …) what the kind needs to know, or remember it."""
        return remembered("preparation", [kind, inputs], lambda: cls._fit(kind, inputs))

    @classmethod
    def _fit(cls, kind: str, inputs: np.ndarray) -> Preparation:
        if kind == "standard":
            pixels = int(np.prod(inputs.shape[2:]))
            levels = np.array([IMAGENET_MEAN, IMAGENET_DEVIATION], dtype=np.float32)
            mean, deviation = 255 * np.repeat(levels, pixels, axis=1)
            return cls(kind, mean, deviation)
        rows = inputs.reshape(len(inputs), -1).astype(np.float32)
        if kind == "columns":
            scale = rows.std(axis=0)
            return cls(kind, rows.mean(axis=0), np.where(scale > 0, scale, np.float32(1)).astype(np.float32))
        rows = _even_contrast(rows)
        mean = rows.mean(axis=0)
        centred = rows - mean
        variances, axes = np.linalg.eigh((centred.T @ centred / len(rows)).astype(np.float64))
        whitening = (axes / np.sqrt(np.maximum(variances, 0) + WHITENING_RIDGE)) @ axes.T
        return cls(kind, mean, np.ones_like(mean), whitening.astype(np.float32))

    def __call__(self, inputs: np.ndarray) -> Float[Tensor, "N ..."]:
        """Return the network's inputs, in the shape of the raw ones; of images, channels are innermost in memory.

        Convolutions pass that order on, and are faster in it on a CPU.
        """
        rows = inputs.reshape(len(inputs), -1).astype(np.float32)
        if self.kind == "whitened":
            rows = (_even_contrast(rows) - self.mean) @ self.whitening
        else:
            rows = (rows - self.mean) / self.scale
        prepared = torch.from_numpy(np.ascontiguousarray(rows.reshape(inputs.shape), dtype=np.float32))
        return prepared.contiguous(memory_format=torch.channels_last) if prepared.ndim == 4 else prepared


def augment(images: np.ndarray, rng: np.random.Generator, kind: str = "full") -> np.ndarray:
    """Flip half of the images (N, c, h, w) and shift all by up to 4 pixels, black coming in at the border.

    With `kind` "flip" they are not shifted, with "none" they stay as they are.

    >>> augment(np.ones((2, 3, 8, 8), dtype=np.uint8), np.random.default_rng(0)).shape
    (2, 3, 8, 8)
    """
    if kind == "none":
        return images
    if kind == "flip":
        is_mirrored = (rng.random(len(images)) < 0.5)[:, None, None, None]
        return np.where(is_mirrored, images[..., ::-1], images)
    number, _, height, width = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    top, left = rng.integers(2 * BORDER + 1, size=(2, number))
    rows = top[:, None] + np.arange(height)
    columns = left[:, None] + np.arange(width)
    flipped = rng.random(number) < 0.5
    columns[flipped] = columns[flipped, ::-1]
    picked = padded[np.arange(number)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    moved: np.ndarray = picked.transpose(0, 3, 1, 2)
    return moved


def _even_contrast(rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    centred = rows - rows.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    even: np.ndarray = (CONTRAST * centred / np.maximum(norms, 1e-8)).astype(np.float32)
    return even

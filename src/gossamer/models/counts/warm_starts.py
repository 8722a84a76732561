"""Where the refinement of each document ended, so that it can go on from there in the next epoch."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.models.counts.posterior import Posterior


class WarmStarts:
    """The last posterior of each of `num_rows` documents: 2 · num_rows · K numbers, whatever the vocabulary.

    >>> kept = WarmStarts(2, 1)
    >>> start = Posterior(torch.ones(1, 1), torch.zeros(1, 1))
    >>> kept.keep(torch.tensor([1]), start)
    >>> kept.recall(torch.tensor([0, 1]), Posterior(torch.zeros(2, 1), torch.zeros(2, 1))).mean.tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, num_rows: int, latent_dim: int) -> None:
        check_int("num_rows", num_rows, at_least=1)
        self._mean = torch.zeros(num_rows, latent_dim)
        self._log_variance = torch.zeros(num_rows, latent_dim)
        self._is_known = torch.zeros(num_rows, dtype=torch.bool)

    def __len__(self) -> int:
        return len(self._is_known)

    def recall(self, rows: Int[Tensor, " B"], otherwise: Posterior) -> Posterior:
        """Return the kept posteriors of `rows`, and `otherwise` of those seen for the first time."""
        places = rows.cpu()
        device = otherwise.mean.device
        is_known = self._is_known[places].unsqueeze(1).to(device)
        return Posterior(
            torch.where(is_known, self._mean[places].to(device), otherwise.mean),
            torch.where(is_known, self._log_variance[places].to(device), otherwise.log_variance),
        )

    def keep(self, rows: Int[Tensor, " B"], posterior: Posterior) -> None:
        """Remember the posteriors of `rows`."""
        places = rows.cpu()
        self._mean[places] = posterior.mean.detach().cpu()
        self._log_variance[places] = posterior.log_variance.detach().cpu()
        self._is_known[places] = True

    def state_dict(self) -> dict[str, Any]:
        """Return all that is kept."""
        return {"mean": self._mean, "log_variance": self._log_variance, "is_known": self._is_known}

    def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """Return to a state of as many rows, exactly."""
        if state is None or state["mean"].shape != self._mean.shape:
            got = None if state is None else tuple(state["mean"].shape)
            raise ValueError(
                f"kept posteriors must have shape {tuple(self._mean.shape)} as these data and arguments do, got {got}; "
                "train anew with another checkpoint"
            )
        self._mean.copy_(state["mean"])
        self._log_variance.copy_(state["log_variance"])
        self._is_known.copy_(state["is_known"])

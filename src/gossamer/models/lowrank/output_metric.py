"""What an error of a layer's output does to the output of the whole network, to first order.

Factors that are fitted to a layer's inputs alone treat all of its outputs alike, though some of them hardly reach the
end of the network. The gradient of a random projection of the network's output, at the layer's, has for second moment
M = E[Jᵀ J]: E[eᵀ M e] is the squared error at the end that an error e of the layer makes. It needs no targets, and a
network that fits its training data to the last row, whose loss has no gradient any more, still has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor, nn

from gossamer.models.lowrank.answers import real_tensors
from gossamer.models.lowrank.batches import Batch, num_rows
from gossamer.models.lowrank.counting import evaluating
from gossamer.models.lowrank.observing import MAX_ROWS, Call, WatchWeights
from gossamer.models.lowrank.sites import Site

MOST_OUTPUTS = 2048  # a metric is a square matrix of them
SEED = 0


class OutputMetrics:
    """Streaming second moments of gradients at the outputs of each site, per example of the data."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = [site for site in sites if _has_metric(site)]
        self._moments: dict[Site, Tensor] = {}
        self._num_examples = 0

    def see(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        """Add the gradients on some batches, by one backward pass each."""
        if not self.sites:
            return
        generator = torch.Generator().manual_seed(SEED)
        weights = [site.weight for site in self.sites]
        wanted = [weight.requires_grad for weight in weights]
        try:
            for weight in weights:
                weight.requires_grad_(True)
            for batch in batches:
                with evaluating(model), torch.enable_grad(), WatchWeights(self.sites, self._listen):
                    parts = [part for part in real_tensors(model(*batch[0])) if part.requires_grad]
                directions = [torch.randn(part.shape, generator=generator).to(part) for part in parts]
                if parts:
                    torch.autograd.grad(parts, weights, directions, allow_unused=True)  # hooks take what is wanted
                self._num_examples += num_rows(batch)
        finally:
            for weight, before in zip(weights, wanted, strict=True):
                weight.requires_grad_(before)

    def metric(self, site: Site) -> dict[str, Tensor]:
        """Return what `factorise` takes; nothing where a site has no metric or no gradient has come."""
        moment = self._moments.get(site)
        if moment is None or not torch.isfinite(moment).all() or not moment.any():
            return {}
        return {"output_metric": moment / self._num_examples}

    def _listen(self, call: Call) -> None:
        if call.output.requires_grad:
            # A hook sees the gradient here, also where an activation then works in place. It must not know the output
            # itself, which holds it: the two would keep each other, and all responses of the network, for ever.
            call.output.register_hook(partial(self._add, call.site, call.kind))  # type: ignore[no-untyped-call]

    def _add(self, site: Site, kind: str, gradient: Tensor) -> None:
        rows, share = _rows(site, kind, gradient)
        moment = (rows.mT @ rows).to(torch.float64) / share
        self._moments[site] = self._moments.get(site, torch.zeros_like(moment)) + moment


def _has_metric(site: Site) -> bool:
    """A table of many words has none: its rows are weighed by how often they are looked up."""
    holds_words = any(isinstance(module, nn.Embedding) for module in site.modules.values())
    return not holds_words and site.weight.shape[0] <= MOST_OUTPUTS


def _rows(site: Site, kind: str, gradient: Tensor) -> tuple[Tensor, float]:
    """Return gradients as (G, N, outputs of a group), of whole examples, and which share of all of them these are."""
    if kind == "linear":
        gradient = gradient if gradient.dim() > 1 else gradient.unsqueeze(0)
        examples = gradient.reshape(len(gradient), -1, gradient.shape[-1]).mT.unsqueeze(1)
    else:
        batched = gradient if gradient.dim() == site.weight.dim() else gradient.unsqueeze(0)
        examples = batched.reshape(len(batched), site.groups, -1, batched[0, 0].numel())
    step = -(-len(examples) // max(1, MAX_ROWS // examples.shape[-1]))
    kept = examples[::step].to(torch.float32)
    return kept.permute(1, 0, 3, 2).flatten(1, 2), len(kept) / len(examples)

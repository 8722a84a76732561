"""Networks whose weights are masked, and one where energies say nothing of what matters."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from gossamer.models.lowrank.batches import BatchSource
from gossamer.models.lowrank.counting import observe_uses
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.pricing import make_problem
from gossamer.models.lowrank.search import MaskedNetwork
from gossamer.models.lowrank.sites import find_sites


def masked(model, data, loss, batch_statistics=False):
    """Return the network with masks on its weights, and the calls it makes on its first batch."""
    sites = find_sites(model, scheme="channel")
    source = BatchSource(data, needs_targets=True)
    calls = observe_uses(model, sites, source[0])
    factors = [factorise(site.to_matrix(site.weight)) for site in sites]
    return MaskedNetwork(model, sites, factors, loss, source, batch_statistics=batch_statistics), calls


def planted():
    """Two layers in parallel with equal energies; the answer depends on the first alone."""

    class Parallel(nn.Module):
        def __init__(self):
            super().__init__()
            self.wanted, self.useless = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
            for layer in (self.wanted, self.useless):
                nn.init.orthogonal_(layer.weight)

        def forward(self, inputs):
            return self.wanted(inputs) + 1e-6 * self.useless(inputs)

    model = Parallel()
    inputs = [torch.randn(16, 8) for _ in range(12)]
    data = [(batch, model(batch).detach()) for batch in inputs]
    network, calls = masked(model, data, functional.mse_loss)
    whole = sum(use.whole_macs for site in network.sites for use in site.uses)
    return network, make_problem(network.sites, network.factors, {"macs": whole}, {"macs": 0.75 * whole}, calls)

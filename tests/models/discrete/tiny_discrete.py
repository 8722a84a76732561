"""Discrete VAEs so small that all states of a code can be listed: the truth for bounds and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.discrete.chain_slots import ChainSlotLatent
from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.observations import BinaryObservation
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.discrete.slots import SlotLatent
from gossamer.models.discrete.temperatures import Temperatures

NUM_COLUMNS = 5


@dataclass(frozen=True)
class States:
    """Everything that can be drawn: codes (N, K), log q (B, N) and log p (N,) of each."""

    codes: Tensor
    log_q: Tensor
    log_p: Tensor

    def merged(self) -> States:
        """Return the distinct codes, with the probabilities of all states that give them."""
        codes, place = self.codes.unique(dim=0, return_inverse=True)
        q = torch.zeros(len(self.log_q), len(codes), dtype=self.log_q.dtype).index_add(1, place, self.log_q.exp())
        p = torch.zeros(len(codes), dtype=self.log_q.dtype).index_add(0, place, self.log_p.exp())
        return States(codes, q.log(), p.log())

    def kl(self) -> Tensor:
        """Return Σ q log(q / p)."""
        return (self.log_q.exp() * (self.log_q - self.log_p)).sum(dim=1)


def latents() -> dict[str, Latent]:
    """Return one small latent of every sort, with priors that are not uniform where they are learned."""
    torch.manual_seed(3)
    found: dict[str, Latent] = {
        "slots": SlotLatent(4, 2),
        "uneven-slots": SlotLatent(5, 2),
        "categorical": SlotLatent(6, 2, has_off=False, learned_prior=False),
        "bernoulli": SlotLatent(4, 4, learned_prior=False),
        "chain": ChainSlotLatent(5, 3),
        "shared": SharedLatent(3, 2, gate_prior=0.3),
        "counts": SharedLatent(3, 3, learned_prior=True, charge_closed=False),
    }
    for latent in found.values():
        latent.double()
        for parameter in latent.parameters():
            torch.nn.init.normal_(parameter)
    return found


def tiny_network(latent: Latent, seed: int = 0) -> DiscreteNetwork:
    """Return a network of few columns around a latent, in double precision, with weights large enough to matter."""
    torch.manual_seed(seed)
    observation = BinaryObservation(torch.full((NUM_COLUMNS,), 0.4))
    temperatures = Temperatures(latent.num_kinds, "fixed", 1.0, 0.1, 1)
    network = DiscreteNetwork(observation, latent, temperatures, encoder_dims=[4], decoder_dims=[4], activation="tanh")
    network.double()
    for name, parameter in network.named_parameters():
        if not name.startswith("latent"):
            # An encoder too sure of itself would hide codes that matter from importance sampling.
            torch.nn.init.normal_(parameter, std=0.4 if name.startswith("encoder") else 0.8)
    return network


def tiny_rows(num_rows: int = 3) -> Tensor:
    """Return some 0/1 observations."""
    generator = torch.Generator().manual_seed(1)
    return torch.bernoulli(torch.full((num_rows, NUM_COLUMNS), 0.5, dtype=torch.float64), generator=generator)


def enumerate_states(latent: Latent, encoded: Tensor) -> States:
    """List all states by brute force, from the definitions alone."""
    if isinstance(latent, SlotLatent):
        return _of_slots(latent, encoded)
    assert isinstance(latent, SharedLatent)
    return _of_shared(latent, encoded)


def _of_slots(latent: SlotLatent, encoded: Tensor) -> States:
    sizes = [latent.num_features // latent.max_active] * latent.max_active
    for slot in range(latent.num_features % latent.max_active):
        sizes[slot] += 1
    starts = [sum(sizes[:slot]) for slot in range(latent.max_active)]
    logits = encoded.view(len(encoded), latent.max_active, -1)
    options = [[*range(size), *([-1] if latent.has_off else [])] for size in sizes]
    codes, log_q, log_p = [], [], []
    log_qs = [logits[:, slot, options[slot]].log_softmax(dim=1) for slot in range(latent.max_active)]
    for choice in product(*[range(len(kinds)) for kinds in options]):
        code = torch.zeros(latent.num_features, dtype=encoded.dtype)
        for slot, option in enumerate(choice):
            if options[slot][option] >= 0:
                code[starts[slot] + option] = 1
        codes.append(code)
        log_q.append(sum(log_qs[slot][:, option] for slot, option in enumerate(choice)))
        log_p.append(
            sum(_log_prior(latent, code, starts, slot, options[slot])[choice[slot]] for slot in range(len(choice)))
        )
    return States(torch.stack(codes), torch.stack(log_q, dim=1), torch.stack(log_p))


def _log_prior(latent: SlotLatent, code: Tensor, starts: list[int], slot: int, options: list[int]) -> Tensor:
    """Return log p of a slot's options, given the features that a code has in earlier slots."""
    logits = latent.prior_logits[slot]
    if isinstance(latent, ChainSlotLatent):
        first = slot * latent.num_options
        for feature in range(starts[slot]):
            logits = logits + code[feature] * latent.influence[first : first + latent.num_options, feature]
    return logits[options].log_softmax(dim=0)


def mean_kl(latent: Latent, encoded: Tensor) -> Tensor:
    """Return the mean of `kl` over all codes that q can draw, as likely as they are."""
    states = enumerate_states(latent, encoded)
    each = latent.kl(encoded, states.codes.unsqueeze(1).expand(-1, len(encoded), -1)).expand(len(states.codes), -1)
    return (states.log_q.exp().T * each).sum(dim=0)


def _of_shared(latent: SharedLatent, encoded: Tensor) -> States:
    """List every sequence of (gate, feature) pairs: what equations (1), (2), (7) and (9) draw."""
    log_pi, gate = encoded[:, :-1].log_softmax(dim=1), encoded[:, -1]
    log_alpha, prior_gate = latent.prior_logits.log_softmax(dim=0), latent.gate_prior_logit[0]
    codes, log_q, log_p = [], [], []
    for sequence in product(product([0, 1], range(latent.num_features)), repeat=latent.max_active):
        code = torch.zeros(latent.num_features, dtype=encoded.dtype)
        q, p = torch.zeros(len(encoded), dtype=encoded.dtype), torch.zeros((), dtype=encoded.dtype)
        for is_open, feature in sequence:
            code[feature] += is_open
            sign = 1 if is_open else -1
            q = q + functional.logsigmoid(sign * gate) + log_pi[:, feature]
            p = p + functional.logsigmoid(sign * prior_gate) + log_alpha[feature]
        codes.append(code)
        log_q.append(q)
        log_p.append(p)
    return States(torch.stack(codes), torch.stack(log_q, dim=1), torch.stack(log_p))


def exact_log_likelihood(network: DiscreteNetwork, x: Tensor) -> Tensor:
    """Return log p(x) of each row by summing over all states."""
    states = enumerate_states(network.latent, network.encode(x))
    fit = network.log_likelihood(states.codes.unsqueeze(1).expand(-1, len(x), -1), x)  # (N, B)
    return (fit + states.log_p.unsqueeze(1)).logsumexp(dim=0)


def exact_reconstruction(network: DiscreteNetwork, x: Tensor, encoded: Tensor) -> Tensor:
    """Return E_q log p(x | z) of each row, differentiable in `encoded` without any estimator."""
    states = enumerate_states(network.latent, encoded)
    fit = network.log_likelihood(states.codes.unsqueeze(1).expand(-1, len(x), -1), x)
    return (states.log_q.exp().T * fit).sum(dim=0)

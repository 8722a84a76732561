"""The pair of networks that a count model learns."""

from __future__ import annotations

from torch import nn

from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.stored_network import check_widths, network_arrays, restore_network, seeded_weights

__all__ = ["CountNetwork", "check_widths", "network_arrays", "restore_network", "seeded_weights"]


class CountNetwork(nn.Module):
    """An encoder, None where every posterior is found from the prior, and a decoder; it has no `forward` of its own."""

    encoder: Encoder | None
    decoder: Decoder

    def __init__(self, encoder: Encoder | None, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

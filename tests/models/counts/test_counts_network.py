from __future__ import annotations

from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork, network_arrays


def test_a_network_stores_its_encoder_where_it_has_one():
    decoder = {"network.decoder.weight", "network.decoder.bias"}
    assert set(network_arrays(CountNetwork(None, Decoder(5, 2)))) == decoder
    both = set(network_arrays(CountNetwork(Encoder(5, 2, (3,)), Decoder(5, 2))))
    assert decoder < both
    assert all(name.startswith("network.encoder.") for name in both - decoder)

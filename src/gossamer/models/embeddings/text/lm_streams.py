"""The loss of a language model over a compressed table, which has a penalty and a pruning of its own."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.embeddings.text.text_pruning import Pruning
from gossamer.models.embeddings.text.text_tables import table_of
from gossamer.networks.sampled_softmax import NegativeSampler
from gossamer.networks.word_streams import StreamLoss


class TableStreamLoss(StreamLoss):
    """`StreamLoss` with the table's own penalty, meant for the sum over an epoch, and the state of its `pruning`."""

    def __init__(
        self,
        network: nn.Module,
        *,
        num_lanes: int,
        num_tokens: int,
        sampler: NegativeSampler | None = None,
        pruning: Pruning | None = None,
    ) -> None:
        super().__init__(network, num_lanes=num_lanes, sampler=sampler)
        self.pruning = pruning
        self.num_tokens = num_tokens

    def penalty(self) -> Float[Tensor, ""] | float:
        """Return the table's share of its penalty, and what the network adds."""
        return table_of(self.network).penalty() / self.num_tokens + super().penalty()

"""Transformer encoders without the fast path, which reads fused weights that a split layer does not have.

`nn.TransformerEncoderLayer` answers by one fused kernel where it can. Of a layer with split matrices that kernel would
be given their products, computed anew for every answer: more work than the whole layer, not less.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from gossamer.networks.low_rank import LowRankLinear
from gossamer.networks.unrolled import UnrolledAttention


class PlainEncoderLayer(nn.TransformerEncoderLayer):
    """`nn.TransformerEncoderLayer`, module by module."""

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return what the layer makes of sequences; arguments as in `nn.TransformerEncoderLayer`."""
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal=is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal=is_causal))
        normed: Tensor = self.norm2(src + self._ff_block(src))
        return normed


class PlainEncoder(nn.TransformerEncoder):
    """`nn.TransformerEncoder`, layer by layer, never by nested tensors."""

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return what the layers make of sequences; arguments as in `nn.TransformerEncoder`."""
        # A hint without a mask has nothing to say to layers that take none; with one the mask says it all.
        is_hinted = False if is_causal is None or mask is None else is_causal
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_hinted)
        if self.norm is not None:
            src = self.norm(src)
        return src


def settle_encoders_(model: nn.Module) -> None:
    """Take the fast path from encoders whose matrices are split or unrolled, and give it back to those that are whole.

    Encoders of other classes, whose forward is their own, are left alone.
    """
    for module in model.modules():
        if type(module) in (nn.TransformerEncoderLayer, PlainEncoderLayer):
            _become(module, PlainEncoderLayer if _is_changed(module) else nn.TransformerEncoderLayer)
    for module in model.modules():
        if type(module) in (nn.TransformerEncoder, PlainEncoder):
            is_plain = any(type(layer) is not nn.TransformerEncoderLayer for layer in module.layers)  # type: ignore[union-attr]
            _become(module, PlainEncoder if is_plain else nn.TransformerEncoder)


def _is_changed(layer: nn.Module) -> bool:
    return any(isinstance(part, UnrolledAttention | LowRankLinear) for part in layer.modules())


def _become(module: Any, kind: type[nn.Module]) -> None:
    module.__class__ = kind

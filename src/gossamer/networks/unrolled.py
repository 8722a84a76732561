"""LSTM, GRU and multi-head attention made of plain linear layers, so that each of their matrices can be split.

`nn.LSTM` and `nn.MultiheadAttention` compute with their weights themselves; here every matrix is an `nn.Linear` that
may be replaced by two. The functions are the same; so are the arguments of `forward`, packed sequences excepted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional


class LSTMDirection(nn.Module):
    """One direction of one LSTM layer (equation 2.13): i, f, g, o from `input` and `recurrent`."""

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool, proj_size: int, reverse: bool) -> None:
        super().__init__()
        state_size = proj_size or hidden_size
        self.input = _empty_linear(input_size, 4 * hidden_size, bias=bias)
        self.recurrent = _empty_linear(state_size, 4 * hidden_size, bias=bias)
        self.project: nn.Module = _empty_linear(hidden_size, proj_size, bias=False) if proj_size else nn.Identity()
        self.reverse = reverse

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Map (T, B, D) and states (B, H) to outputs (T, B, H) and the last states."""
        gates_in = self.input(inputs)
        outputs: list[Tensor] = []
        steps = gates_in.shape[0]
        for step in range(steps):
            place = steps - 1 - step if self.reverse else step
            gates = gates_in[place] + self.recurrent(hidden)
            opened, forget, candidate, shown = gates.chunk(4, 1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(opened) * torch.tanh(candidate)
            hidden = self.project(torch.sigmoid(shown) * torch.tanh(cell))
            outputs.append(hidden)
        if self.reverse:
            outputs.reverse()
        return torch.stack(outputs), hidden, cell


class GRUDirection(nn.Module):
    """One direction of one GRU layer: r, z, n from `input` and `recurrent`."""

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool, reverse: bool) -> None:
        super().__init__()
        self.input = _empty_linear(input_size, 3 * hidden_size, bias=bias)
        self.recurrent = _empty_linear(hidden_size, 3 * hidden_size, bias=bias)
        self.reverse = reverse

    def forward(self, inputs: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Map (T, B, D) and a state (B, H) to outputs (T, B, H) and the last state."""
        gates_in = self.input(inputs)
        outputs: list[Tensor] = []
        steps = gates_in.shape[0]
        for step in range(steps):
            place = steps - 1 - step if self.reverse else step
            in_reset, in_update, in_new = gates_in[place].chunk(3, 1)
            reset, update, new = self.recurrent(hidden).chunk(3, 1)
            share = torch.sigmoid(in_update + update)
            hidden = (1 - share) * torch.tanh(in_new + torch.sigmoid(in_reset + reset) * new) + share * hidden
            outputs.append(hidden)
        if self.reverse:
            outputs.reverse()
        return torch.stack(outputs), hidden


Direction = LSTMDirection | GRUDirection


class UnrolledRecurrent(nn.Module, ABC):
    """What both recurrent networks share: layers, directions, and the attributes of `nn.LSTM` and `nn.GRU`."""

    def __init__(self, source: nn.RNNBase) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = source.input_size, source.hidden_size, source.num_layers
        self.bias, self.batch_first, self.dropout = source.bias, source.batch_first, float(source.dropout)
        self.bidirectional, self.proj_size = source.bidirectional, source.proj_size
        self.num_directions = 2 if source.bidirectional else 1
        self.state_size = source.proj_size or source.hidden_size
        self.directions = nn.ModuleList()
        for layer in range(source.num_layers):
            for way in range(self.num_directions):
                width = source.input_size if layer == 0 else self.state_size * self.num_directions
                direction = self._make_direction(width, way == 1)
                suffix = f"l{layer}{'_reverse' if way else ''}"
                _take(direction.input, source, f"weight_ih_{suffix}", f"bias_ih_{suffix}")
                _take(direction.recurrent, source, f"weight_hh_{suffix}", f"bias_hh_{suffix}")
                if isinstance(direction, LSTMDirection) and source.proj_size:
                    _take(direction.project, source, f"weight_hr_{suffix}", "")
                self.directions.append(direction)
        self.train(source.training)

    @abstractmethod
    def _make_direction(self, width: int, reverse: bool) -> Direction:
        """Return an empty direction of a layer that reads `width` numbers."""

    def flatten_parameters(self) -> None:
        """Do nothing: there is no fused kernel to prepare for."""


class UnrolledLSTM(UnrolledRecurrent):
    """`nn.LSTM` made of linear layers."""

    def _make_direction(self, width: int, reverse: bool) -> Direction:
        return LSTMDirection(width, self.hidden_size, bias=self.bias, proj_size=self.proj_size, reverse=reverse)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return outputs and the last states, in the shapes of `nn.LSTM`."""
        is_batched = input.dim() == 3
        layer = input if is_batched else input.unsqueeze(1)
        if is_batched and self.batch_first:
            layer = layer.transpose(0, 1)
        batch, number = layer.shape[1], self.num_layers * self.num_directions
        if hx is None:
            hidden = torch.zeros(number, batch, self.state_size, dtype=layer.dtype, device=layer.device)
            cell = torch.zeros(number, batch, self.hidden_size, dtype=layer.dtype, device=layer.device)
        else:
            hidden, cell = hx
            if not is_batched:
                hidden, cell = hidden.unsqueeze(1), cell.unsqueeze(1)
        hiddens: list[Tensor] = []
        cells: list[Tensor] = []
        outputs: list[Tensor] = []
        for place, direction in enumerate(self.directions):
            output, last, last_cell = direction(layer, hidden[place], cell[place])
            hiddens.append(last)
            cells.append(last_cell)
            outputs.append(output)
            if len(outputs) == self.num_directions:
                layer = torch.cat(outputs, dim=2)
                outputs = []
                if self.dropout > 0 and place + 1 < number:
                    layer = functional.dropout(layer, self.dropout, self.training)
        last_hidden, last_cells = torch.stack(hiddens), torch.stack(cells)
        if not is_batched:
            return layer.squeeze(1), (last_hidden.squeeze(1), last_cells.squeeze(1))
        return (layer.transpose(0, 1) if self.batch_first else layer), (last_hidden, last_cells)


class UnrolledGRU(UnrolledRecurrent):
    """`nn.GRU` made of linear layers."""

    def _make_direction(self, width: int, reverse: bool) -> Direction:
        return GRUDirection(width, self.hidden_size, bias=self.bias, reverse=reverse)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return outputs and the last state, in the shapes of `nn.GRU`."""
        is_batched = input.dim() == 3
        layer = input if is_batched else input.unsqueeze(1)
        if is_batched and self.batch_first:
            layer = layer.transpose(0, 1)
        batch, number = layer.shape[1], self.num_layers * self.num_directions
        if hx is None:
            hidden = torch.zeros(number, batch, self.hidden_size, dtype=layer.dtype, device=layer.device)
        else:
            hidden = hx if is_batched else hx.unsqueeze(1)
        hiddens: list[Tensor] = []
        outputs: list[Tensor] = []
        for place, direction in enumerate(self.directions):
            output, last = direction(layer, hidden[place])
            hiddens.append(last)
            outputs.append(output)
            if len(outputs) == self.num_directions:
                layer = torch.cat(outputs, dim=2)
                outputs = []
                if self.dropout > 0 and place + 1 < number:
                    layer = functional.dropout(layer, self.dropout, self.training)
        last_hidden = torch.stack(hiddens)
        if not is_batched:
            return layer.squeeze(1), last_hidden.squeeze(1)
        return (layer.transpose(0, 1) if self.batch_first else layer), last_hidden


class UnrolledAttention(nn.Module):
    """`nn.MultiheadAttention` made of four linear layers."""

    def __init__(self, source: nn.MultiheadAttention) -> None:
        super().__init__()
        width = source.embed_dim
        self.embed_dim, self.num_heads, self.head_dim = width, source.num_heads, source.head_dim
        self.dropout, self.batch_first = float(source.dropout), source.batch_first
        has_bias = source.in_proj_bias is not None
        biases = source.in_proj_bias.chunk(3) if has_bias else (None, None, None)
        if source._qkv_same_embed_dim:
            weights = source.in_proj_weight.chunk(3)
        else:
            weights = (source.q_proj_weight, source.k_proj_weight, source.v_proj_weight)
        made = []
        for weight, bias in zip(weights, biases, strict=True):
            linear = _empty_linear(weight.shape[1], weight.shape[0], bias=has_bias)
            _copy(linear, weight, bias)
            made.append(linear)
        self.query, self.key, self.value = made
        self.out = _empty_linear(width, width, bias=source.out_proj.bias is not None)
        _copy(self.out, source.out_proj.weight, source.out_proj.bias)
        # What nn.TransformerEncoderLayer asks before it takes a fast path that would read fused weights.
        self._qkv_same_embed_dim = False
        self.in_proj_bias: Tensor | None = None
        self.train(source.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return attended values and, where they are wanted, the weights; arguments as in `nn.MultiheadAttention`."""
        if is_causal and attn_mask is None:
            raise ValueError("attn_mask must be given with is_causal, which is only a hint, got None")
        is_batched = query.dim() == 3
        if not is_batched:
            query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        queries, keys, values = (
            self._heads(self.query(query)),
            self._heads(self.key(key)),
            self._heads(self.value(value)),
        )
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        if attn_mask is not None:
            mask = _additive(attn_mask, scores)
            if mask.dim() == 3:
                mask = mask.view(-1, self.num_heads, mask.shape[1], mask.shape[2])
            scores = scores + mask
        if key_padding_mask is not None:
            scores = scores + _additive(key_padding_mask, scores)[:, None, None, :]
        weights = functional.dropout(torch.softmax(scores, dim=-1), self.dropout, self.training)
        joined = (weights @ values).permute(2, 0, 1, 3).flatten(2)
        output = self.out(joined)
        shown: Tensor | None = None
        if need_weights:
            shown = weights.mean(dim=1) if average_attn_weights else weights
        if not is_batched:
            return output.squeeze(1), None if shown is None else shown.squeeze(0)
        return (output.transpose(0, 1) if self.batch_first else output), shown

    def _heads(self, projected: Tensor) -> Tensor:
        """Map (T, B, D) to (B, heads, T, D / heads)."""
        steps, batch = projected.shape[0], projected.shape[1]
        return projected.view(steps, batch, self.num_heads, self.head_dim).permute(1, 2, 0, 3)


def can_be_unrolled(module: nn.Module) -> bool:
    """Say whether a module is one of these kinds with a forward, and with parameters, of its own kind.

    One with hooks stays, because they would be lost, and so does one whose weights something else computes.
    """
    if any(part._forward_hooks or part._forward_pre_hooks or part._backward_hooks for part in module.modules()):
        return False
    if isinstance(module, nn.MultiheadAttention):
        is_plain = type(module).forward is nn.MultiheadAttention.forward and not module.add_zero_attn
        return is_plain and module.bias_k is None and module.bias_v is None and _is_own(module)
    for kind in (nn.LSTM, nn.GRU):
        if isinstance(module, kind):
            return type(module).forward is kind.forward and set(module._flat_weights_names) <= set(module._parameters)
    return False


def _is_own(attention: nn.MultiheadAttention) -> bool:
    """Say whether all of an attention's weights are plain parameters, not computed by a parametrisation."""
    fused = ["in_proj_weight"] if attention._qkv_same_embed_dim else ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    projections = all(attention._parameters.get(name) is not None for name in fused)
    return projections and attention.out_proj._parameters.get("weight") is not None


def unroll(module: nn.Module) -> nn.Module:
    """Return the same function made of linear layers."""
    if isinstance(module, nn.MultiheadAttention):
        return UnrolledAttention(module)
    return UnrolledLSTM(module) if isinstance(module, nn.LSTM) else UnrolledGRU(module)  # type: ignore[arg-type]


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask to be added: −∞ where a mask of bools is True."""
    if mask.dtype != torch.bool:
        return mask.to(like.dtype)
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, float("-inf"))


def _empty_linear(num_in: int, num_out: int, *, bias: bool) -> nn.Linear:
    """Make a layer without drawing numbers: its weights are given next, and nobody's generator moves."""
    with torch.device("meta"):
        return nn.Linear(num_in, num_out, bias=bias)


def _take(linear: nn.Module, source: nn.Module, weight: str, bias: str) -> None:
    """Give a linear layer the very parameters of a recurrent network: what was shared stays shared."""
    linear.weight = getattr(source, weight)
    if bias and getattr(source, bias, None) is not None:
        linear.bias = getattr(source, bias)


def _copy(linear: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    linear.weight = nn.Parameter(weight.detach().clone(), requires_grad=weight.requires_grad)
    if bias is not None:
        linear.bias = nn.Parameter(bias.detach().clone(), requires_grad=bias.requires_grad)

"""Who uses which tensor, and whose weight it was."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from gossamer.models.lowrank.flow import ANSWER, owner_of, owners_of, tensors_of, watch_flow
from gossamer.networks.low_rank import LowRankLinear


class Forked(nn.Module):
    """A layer whose output is used twice, and returned, too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3, bias=False)

    def forward(self, inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = self.layer(inputs)
        return {"sum": torch.relu(hidden) + hidden, "hidden": hidden}


def test_users_are_calls_and_the_answer():
    model = Forked()
    flow = watch_flow(model, ((torch.randn(2, 3),), None))
    assert flow.calls[0][0] is functional.linear
    hidden = flow.calls[0][2]
    assert flow.users(hidden) == [1, 2, ANSWER]
    assert flow.users(flow.calls[2][2]) == [ANSWER]
    assert flow.users(torch.zeros(1)) == []
    assert model.training  # as it was before


def test_owners_hold_a_weight_alone():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    model = nn.ModuleDict(
        {"a": first, "b": second, "norm": nn.BatchNorm1d(2), "split": LowRankLinear(4, 4, 1, bias=True)}
    )
    owners = owners_of(model)
    assert owner_of([torch.zeros(1), first.weight], owners) == ("a", first)
    assert owner_of([model["norm"].running_mean], owners) == ("norm", model["norm"])
    assert {name for name, _ in owners.values()} == {"a", "b", "norm", "split.0", "split.1"}
    second.weight = first.weight
    assert owner_of([first.weight], owners_of(model)) == ("", None)


def test_tensors_are_found_in_nested_values():
    first, second = torch.zeros(1), torch.ones(1)
    assert tensors_of({"a": [first, 3], "b": (second, "text")}) == [first, second]

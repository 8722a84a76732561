import torch

from gossamer.models.embeddings import tied_logits
from gossamer.models.embeddings.tied_logits import TiedLogits, combine_anchors


def problem(num_rows=11, num_anchors=6, num_slots=3, width=4, batch=5):
    generator = torch.Generator().manual_seed(0)
    slots = torch.stack([torch.randperm(num_anchors, generator=generator)[:num_slots] for _ in range(num_rows)])
    values = torch.rand(num_rows, num_slots, generator=generator, dtype=torch.float64)
    anchors = torch.randn(num_anchors, width, generator=generator, dtype=torch.float64)
    hidden = torch.randn(batch, width, generator=generator, dtype=torch.float64)
    return hidden, slots, values, anchors


def dense_transform(slots, values, num_anchors):
    return torch.zeros(len(slots), num_anchors, dtype=values.dtype).scatter(1, slots, values)


def test_combination_is_the_product_with_a_dense_transform():
    _, slots, values, anchors = problem()
    expected = dense_transform(slots, values, len(anchors)) @ anchors
    assert torch.allclose(combine_anchors(slots, values, anchors), expected)


def test_equal_to_the_dense_product_whatever_the_blocks(monkeypatch):
    hidden, slots, values, anchors = problem()
    leaves = [tensor.clone().requires_grad_() for tensor in (hidden, values, anchors)]
    expected = leaves[0] @ (dense_transform(slots, leaves[1], len(anchors)) @ leaves[2]).T
    weight = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gradients = torch.autograd.grad((expected * weight).sum(), leaves)
    for block in (1, 4, 100):
        monkeypatch.setattr(tied_logits, "ROWS_AT_ONCE", block)
        found = TiedLogits.apply(leaves[0], slots, leaves[1], leaves[2], None)
        assert torch.allclose(found, expected)
        for ours, theirs in zip(torch.autograd.grad((found * weight).sum(), leaves), gradients, strict=True):
            assert torch.allclose(ours, theirs)


def test_gradcheck():
    hidden, slots, values, anchors = problem()
    leaves = [tensor.requires_grad_() for tensor in (hidden, values, anchors)]
    assert torch.autograd.gradcheck(lambda h, v, a: TiedLogits.apply(h, slots, v, a, None), leaves)
    assert torch.autograd.gradcheck(lambda v, a: combine_anchors(slots, v, a), leaves[1:])


def test_the_listener_sees_the_gradient_of_every_row(monkeypatch):
    monkeypatch.setattr(tied_logits, "ROWS_AT_ONCE", 4)
    hidden, slots, values, anchors = problem()
    seen = {}
    logits = TiedLogits.apply(
        hidden,
        slots,
        values.requires_grad_(),
        anchors,
        lambda ids, rows: seen.update(zip(ids.tolist(), rows, strict=True)),
    )
    weight = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (logits * weight).sum().backward()
    assert torch.allclose(torch.stack([seen[row] for row in range(len(slots))]), weight.T @ hidden)

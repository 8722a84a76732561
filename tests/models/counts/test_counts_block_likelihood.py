import pytest
import torch
from refinement_problems import decoder_of, dense_counts, documents, log_likelihood, whole_block

from gossamer.models.counts import block_likelihood
from gossamer.models.counts.block_likelihood import BlockLikelihood, exponentiate, row_blocks


def test_value_and_gradient_are_those_of_the_dense_formula():
    decoder, batch = decoder_of(), documents(empty=(2,))
    hidden = torch.randn(len(batch), 3, dtype=torch.float64, requires_grad=True)
    expected = log_likelihood(decoder, batch, hidden)
    (gradient,) = torch.autograd.grad(expected.sum(), hidden)
    block = whole_block(decoder, batch)
    value, found = block.value_and_gradient(hidden.detach(), block.logits_space())
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(found, gradient)


def test_words_are_summed_up_once():
    decoder, batch = decoder_of(), documents(empty=(0, 4))
    block, dense = whole_block(decoder, batch), dense_counts(batch)
    torch.testing.assert_close(block.evidence, dense @ decoder.weight.detach())
    torch.testing.assert_close(block.bias_evidence, dense @ decoder.bias.detach().unsqueeze(1))
    torch.testing.assert_close(block.lengths, dense.sum(dim=1, keepdim=True))
    assert not any(part.requires_grad for part in (block.evidence, block.weight, block.bias))


@pytest.mark.parametrize("rows", [slice(0, 2), slice(2, 5), slice(1, 1)])
def test_consecutive_rows_and_chosen_ones_are_those_of_the_whole(rows):
    decoder, batch = decoder_of(), documents(empty=(3,))
    part, whole = BlockLikelihood.of_rows(decoder, batch, rows), whole_block(decoder, batch)
    for chosen in (part, whole.take(torch.arange(5)[rows])):
        assert len(chosen) == rows.stop - rows.start
        for name in ("evidence", "bias_evidence", "lengths"):
            torch.testing.assert_close(getattr(chosen, name), getattr(whole, name)[rows])


def test_documents_that_are_all_empty():
    block = whole_block(decoder_of(), documents(2, empty=(0, 1)))
    value, gradient = block.value_and_gradient(torch.ones(2, 3, dtype=torch.float64), block.logits_space())
    assert value.tolist() == [0, 0]
    assert not gradient.any()


def test_huge_logits_do_not_overflow():
    logits = torch.tensor([[1000.0, 999.0], [-2000.0, -2000.0]])
    expected = logits.logsumexp(dim=1, keepdim=True)
    probs = torch.softmax(logits, dim=1)
    log_total, total = exponentiate(logits)
    torch.testing.assert_close(log_total, expected)
    torch.testing.assert_close(logits / total, probs)


@pytest.mark.parametrize(("num_rows", "num_terms"), [(0, 5), (1, 5), (200, 50_000), (5000, 100), (129, 10**7)])
def test_blocks_cover_all_rows_in_order_and_are_of_bounded_size(num_rows, num_terms):
    blocks = row_blocks(num_rows, num_terms)
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(num_rows))
    largest = max(block_likelihood.MIN_BLOCK_ROWS * num_terms, block_likelihood.BLOCK_VALUES)
    assert all(0 < (block.stop - block.start) * num_terms <= largest for block in blocks)

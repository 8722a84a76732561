"""When a VAE of sparse counts underfits: the same network with the encoder's posteriors and with refined ones.

    python examples/plot_underfitting_vae.py          # writes underfitting_vae.svg

Docstrings of Python's standard library, two trainings of one decoder with hidden layers, both judged on docstrings that
were held out: by the encoder's posteriors the decoder gives its latent directions up and ends at the unigram model, by
refined ones it keeps half of them. Runs in about a minute on a CPU.
"""

from __future__ import annotations

from pathlib import Path

from gossamer import datasets
from gossamer.data.splits import split_documents
from gossamer.models.counts import CountVAE, Unigram
from gossamer.report.latent_figures import singular_value_curves

EPOCHS = 10


def main() -> None:
    parts = split_documents(datasets.load("stdlib-docs")[::4], random_state=0)
    bar = Unigram().fit(parts.train).evaluate(parts.test)["perplexity_document_refined"]
    print(f"{'unigram':>10}  perplexity {bar:.0f}")
    spectra = {}
    for inference in ("amortised", "refined"):
        model = CountVAE(
            latent_dim=20,
            decoder_dims=(100, 100),
            encoder_dims=(100, 100),
            inference=inference,
            epochs=EPOCHS,
            batch_size=50,
            learning_rate=0.005,
        ).fit(parts.train, validation=parts.valid)
        found = model.diagnose(parts.test, parts.train)
        spectra[inference] = found["document_singular_values"]
        by_encoder, refined = (model.perplexity(parts.test, refine=refine) for refine in (False, True))
        print(
            f"{inference:>10}  perplexity {by_encoder:.0f} by the encoder, {refined:.0f} refined; "
            f"{found['used_directions']} of {found['latent_dim']} directions used"
        )
    strongest = model.explain(1)["topics"][0]
    print(f"strongest direction: {', '.join(strongest['raises'][:6])} against {', '.join(strongest['lowers'][:6])}")
    picture = Path("underfitting_vae.svg")
    picture.write_text(singular_value_curves(spectra, title="Singular values, weighed by words").svg, encoding="utf-8")
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()

"""How long does Gauss–Newton take to the bound that 100 Adam steps reach, for a decoder with two hidden layers?"""

from __future__ import annotations

from measuring import run_benchmark
from refinement_problem import COLUMNS, PEERS, by_settings, contender, load_problem, planted_documents

from gossamer.models.counts.refinement import Refinement

if __name__ == "__main__":
    newton = {f"Gauss-Newton × {steps}": contender(by_settings(Refinement(steps=steps))) for steps in (3, 2, 4, 8)}
    run_benchmark(
        "refinement-hidden",
        "Refinement of 1,000 documents, V = 2000, K = 100, decoder with two hidden layers of 400",
        {"num_documents": 1000, "num_terms": 2000, "latent_dim": 100, "hidden_dim": 400, "num_hidden": 2},
        {**newton, **PEERS},
        small={"num_documents": 50, "num_terms": 500, "latent_dim": 20, "hidden_dim": 50},
        make=planted_documents,
        load=load_problem,
        costs=COLUMNS,
        packages=("torch",),
    )

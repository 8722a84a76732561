"""Communities of users: how many there are, who is in them, and why somebody is recommended something.

    python examples/plot_communities.py          # writes communities.svg

Made-up users of five communities take items of their own community, and a third of anybody's. The number of
communities is read off the graph. Runs in about twenty seconds on a CPU.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from gossamer import datasets
from gossamer.data.splits import split_user_time
from gossamer.datasets.planted_communities import true_communities
from gossamer.models.community import CommunityRecommender
from gossamer.report.community_figures import community_maps


def main() -> None:
    data = datasets.load("planted-communities", num_users=800, num_items=300, num_communities=5, mixing=0.3)
    split = split_user_time(data, (0.7, 0.1, 0.2))
    model = CommunityRecommender(embedding_dim=16, epochs=8, batch_size=100, learning_rate=0.01)
    model.fit(split.train, split.valid)

    weights = model.memberships()
    agreement = adjusted_mutual_info_score(true_communities(split.train.users), weights.argmax(axis=1))
    print(f"{model.num_communities_} communities were found; agreement with the truth {agreement:.2f} of 1")
    for row in model.communities(n=3):
        print(f"  {row['community']}: {row['members']} members, such as {row['typical members'][0]}, "
              f"like {', '.join(row['typical items'])}")  # fmt: skip

    user = split.train.users[0]
    first = model.explain(n=1, user=user)["recommended"][0]
    print(f"{user} is recommended {first['item']}: {first['share of community']:.0%} of it is the community's say")

    sizes = np.bincount(weights.argmax(axis=1), minlength=model.num_communities_)
    picture = Path("communities.svg")
    picture.write_text(
        community_maps(model.network_.community_space().detach().numpy(), sizes)[1].svg, encoding="utf-8"
    )
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()

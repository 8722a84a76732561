"""Model families, strangers to each other; `gossamer.models.catalogue` finds them.

`gossamer.models.item_ranker` is what item rankers of every family are built on.
"""

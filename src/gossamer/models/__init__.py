"""Model families, strangers to each other; `gossamer.models.catalogue` finds them."""

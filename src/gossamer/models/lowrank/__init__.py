"""Low-rank compression of trained networks under a stated budget (COBLA)."""

"""EM iterations as layers of a network (chapter 4, DENNL), and the methods it is compared with."""

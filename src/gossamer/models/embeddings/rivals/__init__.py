"""Every other way to make a table of vectors smaller, behind the face of `EmbeddingTable`."""

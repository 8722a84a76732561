"""Fitted models for other tools: ONNX graphs, sparse codes as .npz or Parquet, vectors as word2vec text."""

from gossamer.serving.export.codes import write_codes
from gossamer.serving.export.onnx_file import write_onnx
from gossamer.serving.export.vectors import write_word2vec

__all__ = ["write_codes", "write_onnx", "write_word2vec"]

"""Tables of any origin as chunks with named rows: delimited text, Parquet, adjacency lists, frames in memory."""

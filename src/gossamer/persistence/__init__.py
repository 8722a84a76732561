"""The artifact: config.json + model.safetensors + vocabularies + card.md, saved atomically, loaded with distrust.

    config.json               class path, constructor arguments, versions, provenance, metrics, metadata, checksums
    model.safetensors         every learned array
    vocabulary.<name>.json    {"kind": "str" | "int", "ids": [...]}
    card.md                   the same for people: what it is, data, metrics, size, how to load it

No pickle; a class path can only name a class that `gossamer.models` ships.
"""

from gossamer.persistence.classes import Persistable
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.persistent import Persistent
from gossamer.persistence.read import Artifact, load, read_artifact
from gossamer.persistence.stored_arrays import check_array, check_names, is_mapped, own_array, pack_csr, unpack_csr
from gossamer.persistence.strict_json import JSON
from gossamer.persistence.write import write_artifact

__all__ = [
    "JSON",
    "Artifact",
    "ArtifactError",
    "Persistable",
    "Persistent",
    "check_array",
    "check_names",
    "is_mapped",
    "load",
    "own_array",
    "pack_csr",
    "read_artifact",
    "unpack_csr",
    "write_artifact",
]

"""The table of networks: modules that hold rows add them with trained and made."""

import dataclasses
from collections.abc import Callable

TABLE = {}  # by name


@dataclasses.dataclass(frozen=True)
class Network:
    """One row. A network is trained, when its file is published with its weights, or made, when they are
    random or trained here."""

    name: str
    group: str
    what: str  # in the words of the field
    source: str  # "package version: path" or "package version: class"
    licence: str
    model: Callable  # (path): writes the file, and external data beside it
    feeds: Callable  # (rng): a generator of inputs by name; it is sent ONNX Runtime's outputs by name
    tolerance: dict  # what data.json says: rtol and atol, or threshold; empty for the tolerance of the command
    why: str  # of a tolerance
    family: str  # of made networks: what those with the same have in common
    margin: float  # of a threshold: how far from it a score must be for its set to count
    reference: Callable  # of a threshold: (path, to) writes a network that must decide alike; None for none


def add(
    name, group, what, source, licence, model, feeds, tolerance=None, why="", family="", margin=0.0, reference=None
):
    assert name not in TABLE, name
    assert bool(tolerance) == bool(why), name
    assert ("threshold" in (tolerance or {})) == (margin > 0), name
    TABLE[name] = Network(
        name, group, what, source, licence, model, feeds, tolerance or {}, why, family, margin, reference
    )


def single(make, sets=2):
    """The feeds of a network without state: sets inputs that make(rng) returns, one after the other."""

    def feeds(rng):
        for _ in range(sets):
            yield make(rng)

    return feeds

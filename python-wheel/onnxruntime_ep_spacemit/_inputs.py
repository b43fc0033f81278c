"""Made-up inputs for a model: seeded, and small enough in value for lookups to stay in range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# numpy names of ONNX Runtime's tensor types
DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
    **{f"tensor({kind}{bits})": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
# sizes of symbolic dimensions, by the first word that their name contains
SIZES = (
    ("batch", 1),
    ("past", 0),
    ("seq", 32),
    ("len", 32),
    ("height", 224),
    ("width", 224),
    ("channel", 3),
)
LARGEST_ID = 9


def make_inputs(session: Any, dims: Mapping[str, int]) -> dict[str, np.ndarray]:
    """One array for each input of ``session``.

    ``dims`` gives sizes to symbolic dimensions by name; the others get usual ones. Raises
    ValueError for an input that is not a numeric tensor, or a name in ``dims`` that no input has.
    """
    import numpy as np

    random = np.random.default_rng(1234)
    symbols = {dim for value in session.get_inputs() for dim in value.shape if isinstance(dim, str)}
    unknown = sorted(set(dims) - symbols)
    if unknown:
        raise ValueError(f"no input has a dimension called {unknown[0]!r}; the model has: {sorted(symbols)}")
    arrays = {}
    for value in session.get_inputs():
        dtype = DTYPES.get(value.type)
        if dtype is None:
            raise ValueError(f"input {value.name!r} is a {value.type}: give inputs with --input")
        shape = tuple(_size(dim, index, len(value.shape), dims) for index, dim in enumerate(value.shape))
        arrays[value.name] = _fill(value.name.lower(), shape, np.dtype(dtype), random)
    return arrays


def load_inputs(path: str, session: Any) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file. Raises ValueError unless they are exactly the session's inputs."""
    import numpy as np

    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    wanted = {value.name for value in session.get_inputs()}
    if set(arrays) != wanted:
        raise ValueError(f"{path} holds {sorted(arrays)}, the model's inputs are {sorted(wanted)}")
    return arrays


def _size(dim: int | str | None, index: int, rank: int, dims: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    name = dim or ""
    if name in dims:
        return dims[name]
    for word, size in SIZES:
        if word in name.lower():
            return size
    if index == 0:
        return 1
    # the last two axes of a 4-D tensor are an image's height and width
    return 224 if rank == 4 and index >= 2 else 32


def _fill(name: str, shape: tuple[int, ...], dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    import numpy as np

    if dtype.kind == "f":
        return np.asarray(random.standard_normal(shape)).astype(dtype)
    if dtype.kind == "b" or "mask" in name or math.prod(shape) == 1:
        return np.ones(shape, dtype)
    if "type" in name or "segment" in name:
        return np.zeros(shape, dtype)
    if "position" in name:
        return np.broadcast_to(np.arange(shape[-1], dtype=dtype), shape).copy()
    return random.integers(1, LARGEST_ID + 1, shape).astype(dtype)

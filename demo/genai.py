"""The same as ``language_model.LanguageModel``, by onnxruntime-genai with the provider's library registered."""

import functools
import json

import onnxruntime_genai as og

import onnxruntime_ep_spacemit
from demo.sessions import CPU, SPACEMIT
from demo.smollm2 import END
from models.smollm2 import shape


class GenaiModel:
    """One text, at most as long as the context of ``sizes``; the arguments before are those of ``sessions.create``."""

    def __init__(self, model, provider, threads=0, options=(), sizes=None):
        sizes = sizes or shape()
        config = og.Config(str(folder(model, threads, sizes)))
        config.clear_providers()
        if provider != CPU:
            register()
            config.append_provider(provider)
            given = {"threads": str(threads)} if threads else {}
            for key, value in {**given, **dict(options)}.items():
                config.set_provider_option(provider, key, value)
        self.context, self.model = sizes.context, og.Model(config)
        parameters = og.GeneratorParams(self.model)
        parameters.set_search_options(max_length=sizes.context, do_sample=False, past_present_share_buffer=True)
        self.generator = og.Generator(self.model, parameters)

    @property
    def room(self):
        return self.context - self.generator.token_count()

    def append(self, tokens):
        self.generator.append_tokens(tokens)

    def next(self):
        self.generator.generate_next_token()
        return int(self.generator.get_next_tokens()[0])


@functools.lru_cache(maxsize=1)
def register():
    """Tell onnxruntime-genai, which has an onnxruntime environment of its own, about the library; once a process."""
    og.register_execution_provider_library(SPACEMIT, onnxruntime_ep_spacemit.get_library_path())


def folder(model, threads, sizes):
    """A folder with the model and the configuration that onnxruntime-genai reads beside it."""
    path = model.parent / "genai" / model.stem
    path.mkdir(parents=True, exist_ok=True)
    link = path / "model.onnx"
    if not link.exists():
        link.symlink_to(model.resolve())
    (path / "genai_config.json").write_text(json.dumps(configuration(threads, sizes), indent=2))
    return path


def configuration(threads, sizes):
    session_options = {"log_severity_level": 3, "provider_options": []}
    if threads:
        session_options["intra_op_num_threads"] = threads
    decoder = {
        "session_options": session_options,
        "filename": "model.onnx",
        "head_size": sizes.head,
        "hidden_size": sizes.hidden,
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "num_key_value_heads": sizes.kv_heads,
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    model = {
        "type": "llama",
        "context_length": sizes.context,
        "vocab_size": sizes.vocabulary,
        "bos_token_id": 1,
        "eos_token_id": END,
        "pad_token_id": END,
        "decoder": decoder,
    }
    return {"model": model, "search": {"max_length": sizes.context, "past_present_share_buffer": True}}

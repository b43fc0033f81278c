"""flan-t5-small, tuned to find titles, as its package ships it: exported and dynamically quantised to int8.

Encoder: ``input_ids``, ``attention_mask`` int64 [batch, encoder sequence] to ``last_hidden_state`` float32
[batch, encoder sequence, 512]. Decoder: ``input_ids`` int64 [batch, decoder sequence], ``encoder_hidden_states``,
``encoder_attention_mask`` to ``logits`` float32 [batch, decoder sequence, 32128]; there is no KV cache.
"""

from models.fetch import read_member

BUILDERS = {
    f"flan-t5-{part}": lambda zoo, path, part=part: path.write_bytes(
        read_member("traceforge-title-model", f"data/span/{part}.onnx")
    )
    for part in ("encoder", "decoder")
}

"""The stages of a speech pipeline, each bound to cores of its own: whisper's encoder on the Spacemit provider, and
SmolLM2 on llama.cpp."""

import hashlib
import os
import threading
import time
from dataclasses import dataclass

from demo import audio, sessions, smollm2, watch
from demo.transcribe import sample
from models.smollm2 import GGUF
from models.zoo import Zoo

QUESTION, TOKENS, CONTEXT = "Why is the sky blue?", 24, 512


class Encoder:
    """Encodes one window of speech; the work is counted in seconds of speech."""

    def __init__(self, cores):
        options = {"cores": ",".join(map(str, cores)), "threads": str(len(cores))}
        # one intra-op thread is the calling one, so that onnxruntime starts none beside the provider's workers
        self.session = sessions.create(Zoo().need("whisper-encoder-mha"), threads=1, options=options)
        self.features = audio.log_mel(next(audio.windows(audio.read_wav(sample()))))

    def step(self):
        """(work, result), which is a digest of the hidden states."""
        (hidden,) = self.session.run(["hidden_states"], {"audio_features": self.features})
        return audio.SECONDS, hashlib.sha256(hidden.tobytes()).hexdigest()


class Decoder:
    """Answers one question; the work is counted in tokens."""

    def __init__(self, cores):
        import xllamacpp as llama

        parameters = llama.CommonParams()
        parameters.model.path = str(Zoo().unpack(*GGUF))
        parameters.n_ctx, parameters.n_parallel, parameters.n_gpu_layers = CONTEXT, 1, 0
        parameters.port, parameters.verbosity = 0, -1  # any free port; errors only
        for placement in (parameters.cpuparams, parameters.cpuparams_batch):
            placement.n_threads = len(cores)
            placement.cpumask = [cpu in cores for cpu in range(llama.GGML_MAX_N_THREADS)]
            placement.mask_valid = placement.strict_cpu = True
        self.server = llama.Server(parameters)

    def step(self):
        """(work, result), which is the text with the logarithms of its tokens' probabilities."""
        prompt = smollm2.opening() + smollm2.turn(QUESTION)
        request = {"prompt": prompt, "n_predict": TOKENS, "temperature": 0, "n_probs": 1, "cache_prompt": False}
        answer = self.server.handle_completions(request)
        if "choices" not in answer:
            raise RuntimeError(f"llama.cpp answers {answer}")
        tokens = answer["choices"][0]["logprobs"]["content"]
        return len(tokens), tuple((token["token"], token["logprob"]) for token in tokens)


STAGES = {"encoder": Encoder, "decoder": Decoder}


@dataclass
class Outcome:
    """Work a second, and the results of all steps."""

    rate: float
    results: set


def work(name, cores, connection):
    """The life of the stage called ``name``, in a thread or a process of its own.

    Sends the ids of its threads when it is ready, receives for how many seconds to work, and sends an Outcome. An
    exception is sent instead of either.
    """
    try:
        before = watch.thread_ids(os.getpid())
        os.sched_setaffinity(0, cores)  # of this thread, and so of those that it starts
        stage = STAGES[name](cores)
        _, first = stage.step()
        connection.send(watch.thread_ids(os.getpid()) - before | {threading.get_native_id()})
        seconds, start = connection.recv(), time.perf_counter()
        amount, results = 0, {first}
        while (elapsed := time.perf_counter() - start) < seconds:
            done, result = stage.step()
            amount += done
            results.add(result)
        connection.send(Outcome(amount / elapsed, results))
    except Exception as error:
        connection.send(error)

"""What all demos share: command-line options of a session, and the session."""

import onnxruntime as ort

import onnxruntime_ep_spacemit  # noqa: F401  gives SessionOptions.append_execution_provider

SPACEMIT, CPU = "Spacemit", "cpu"


def add_arguments(parser):
    """Options that choose the provider and go to it."""
    parser.add_argument("--provider", choices=[SPACEMIT, CPU], default=SPACEMIT)
    parser.add_argument("--threads", type=int, default=0, help="0, the default, is one for each physical core")
    parser.add_argument(
        "--option", type=_pair, action="append", default=[], metavar="KEY=VALUE", help="option of the provider Spacemit"
    )


def create(model, provider=SPACEMIT, threads=0, options=()):
    """A session for the model at this path; ``options`` are pairs for the provider Spacemit."""
    session_options = ort.SessionOptions()
    session_options.log_severity_level = 3  # errors only: that some nodes stay on the CPU provider is no surprise
    session_options.intra_op_num_threads = threads
    if provider == CPU:
        return ort.InferenceSession(str(model), session_options, providers=["CPUExecutionProvider"])
    session_options.append_execution_provider(provider, dict(options))
    return ort.InferenceSession(str(model), session_options)


def _pair(text):
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ValueError
    return key, value


_pair.__name__ = "KEY=VALUE"  # argparse names it when the text is another

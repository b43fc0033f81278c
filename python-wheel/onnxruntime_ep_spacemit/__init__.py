"""ONNX Runtime execution provider for SpacemiT RISC-V AI chips, with a host engine for PCs.

Importing this module adds ``append_execution_provider`` to ``onnxruntime.SessionOptions`` and to
``onnxruntime.InferenceSession``::

    import onnxruntime as ort
    import onnxruntime_ep_spacemit

    options = ort.SessionOptions()
    options.append_execution_provider("Spacemit", {"threads": "4"})
    session = ort.InferenceSession("model.onnx", options)

The module also imports where no onnxruntime is installed; only what needs it then raises
ImportError.
"""

from . import _append
from ._registration import devices, get_ep_name, get_ep_names, get_library_path, register, unregister

__version__ = "0.1.0"
__all__ = ["devices", "get_ep_name", "get_ep_names", "get_library_path", "register", "unregister"]

_append.install()

"""The plugin library and its registration with onnxruntime."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

EP_NAME = "Spacemit"
LIBRARY = "libonnxruntime_ep_spacemit.so"


def get_library_path() -> str:
    """Absolute path of the plugin library, for ``register_execution_provider_library``."""
    path = Path(__file__).resolve().parent / LIBRARY
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: this installation of onnxruntime-ep-spacemit is incomplete")
    return str(path)


def get_ep_name() -> str:
    """Name of the execution provider in the library."""
    return EP_NAME


def get_ep_names() -> list[str]:
    """Names of all execution providers in the library."""
    return [EP_NAME]


def onnxruntime() -> ModuleType:
    """The installed onnxruntime module.

    Raises ImportError when there is none, or when it cannot load provider libraries (before 1.23).
    """
    try:
        module = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise ImportError(
            f"the {EP_NAME} provider needs onnxruntime 1.23 or newer (pip install onnxruntime)"
        ) from error
    if not hasattr(module, "register_execution_provider_library"):
        version = getattr(module, "__version__", "of unknown version")
        raise ImportError(f"the {EP_NAME} provider needs onnxruntime 1.23 or newer; installed is {version}")
    return module


def _listed() -> list[Any]:
    return [device for device in onnxruntime().get_ep_devices() if device.ep_name == EP_NAME]


def register() -> None:
    """Register the library with onnxruntime under the name ``Spacemit``, unless it is registered."""
    if not _listed():
        onnxruntime().register_execution_provider_library(EP_NAME, get_library_path())


def unregister() -> None:
    """Undo ``register()``; does nothing when the provider is not registered.

    Raises onnxruntime's error when the application registered the library under another name.
    """
    if _listed():
        onnxruntime().unregister_execution_provider_library(EP_NAME)


def devices() -> list[Any]:
    """The provider's ``OrtEpDevice`` objects, registering the library first."""
    register()
    found = _listed()
    if not found:
        raise RuntimeError(f"{get_library_path()} is registered but offers no device on this machine")
    # a library that is registered under two names lists every device twice
    first = found[0].ep_metadata
    return [device for index, device in enumerate(found) if index == 0 or device.ep_metadata != first]

"""``append_execution_provider`` for onnxruntime's SessionOptions and InferenceSession."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from . import _registration
from ._registration import EP_NAME

PREFIX = f"ep.{EP_NAME.lower()}."
# Session options are opaque C++ objects; an entry under this key tells that they select the provider.
SELECTED = "onnxruntime_ep_spacemit.selected"
# The thread count that was taken from intra_op_num_threads.
FOLLOWED = "onnxruntime_ep_spacemit.threads"


def install() -> None:
    """Add the methods to onnxruntime's classes; does nothing twice, or without a usable onnxruntime."""
    try:
        ort = _registration.onnxruntime()
    except ImportError:
        return
    if hasattr(ort.InferenceSession.__init__, "selects_spacemit"):
        return
    ort.SessionOptions.append_execution_provider = _options_method(ort.SessionOptions)
    ort.InferenceSession.append_execution_provider = _session_method(ort.InferenceSession)
    ort.InferenceSession.__init__ = _strict_init(ort.InferenceSession.__init__)


def _entry(options: Any, key: str) -> str | None:
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:  # onnxruntime's way to say that there is none
        return None


def _set_entry(options: Any, key: str, value: str) -> None:
    if _entry(options, key) != value:
        options.add_session_config_entry(key, value)


def _select(options: Any) -> None:
    """Add the provider's device, once. Options copied from a session keep entries but not devices."""
    if _entry(options, SELECTED) is None or not options.has_providers():
        options.add_provider_for_devices(_registration.devices()[:1], {})
        _set_entry(options, SELECTED, "1")


def _not_ours(previous: Any, self: Any, name: str, options: Mapping[str, Any] | None) -> Any:
    """Hand another provider's name to the method that was there before, if any."""
    if previous is None:
        raise ValueError(f"append_execution_provider() knows {EP_NAME!r}, not {name!r}")
    return previous(self, name, options)


def _options_method(options_class: type) -> Any:
    previous = getattr(options_class, "append_execution_provider", None)

    def append_execution_provider(self: Any, name: str, options: Mapping[str, Any] | None = None) -> None:
        """Let sessions created with these options run on the provider.

        ``options`` are provider options. ``threads`` follows ``intra_op_num_threads`` when it is
        not given. Appending again only changes the options that are given.
        """
        if name != EP_NAME:
            _not_ours(previous, self, name, options)
            return
        _select(self)
        for key, value in (options or {}).items():
            _set_entry(self, PREFIX + key, str(value))

    return append_execution_provider


def _session_method(session_class: type) -> Any:
    previous = getattr(session_class, "append_execution_provider", None)

    def append_execution_provider(self: Any, name: str, options: Mapping[str, Any] | None = None) -> None:
        """Move this session onto the provider.

        The session is created again from the model and the session options that it was made of; when that
        fails, the error is raised and the session stays as it was. A session that is on the provider
        already is left alone unless ``options`` are given. Bindings of the old session must be
        made again.
        """
        if name != EP_NAME:
            _not_ours(previous, self, name, options)
            return
        if EP_NAME in self.get_providers() and not options:
            return
        model = self._model_path or self._model_bytes
        if model is None:
            raise RuntimeError("this session was not created from a model path or bytes and cannot be created again")
        session_options = self.get_session_options()  # a copy: other sessions may be made with the original
        session_options.append_execution_provider(EP_NAME, options)
        moved = session_class(model, session_options, read_config_from_model=int(self._read_config_from_model))
        self.__dict__.update(moved.__dict__)

    return append_execution_provider


def _strict_init(init: Any) -> Any:
    """Wrap ``InferenceSession.__init__``: a session that selects the provider has it, or raises.

    By itself onnxruntime replaces a provider that fails to start by its CPU provider.
    """

    @functools.wraps(init)
    def wrapped(
        self: Any, path_or_bytes: Any, sess_options: Any = None, providers: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        by_name = EP_NAME in [entry[0] if isinstance(entry, tuple) else entry for entry in providers or []]
        by_options = sess_options is not None and _entry(sess_options, SELECTED) is not None
        if by_name:
            _require_name()
        if by_name or by_options:
            kwargs.setdefault("enable_fallback", 0)
        if by_options:
            _select(sess_options)
            _follow_threads(sess_options)
        init(self, path_or_bytes, sess_options, providers, *args, **kwargs)

    wrapped.selects_spacemit = True  # type: ignore[attr-defined]
    return wrapped


def _require_name() -> None:
    """Make ``providers=["Spacemit"]`` possible, or say that this onnxruntime cannot do it."""
    ort = _registration.onnxruntime()
    _registration.register()
    if EP_NAME not in ort.get_available_providers():
        raise ValueError(
            f"onnxruntime {ort.__version__} cannot select {EP_NAME} by providers=[...] (1.25 and newer can); "
            f'use SessionOptions.append_execution_provider("{EP_NAME}")'
        )


def _follow_threads(session_options: Any) -> None:
    """Give the provider the session's thread count, unless the option ``threads`` was given."""
    threads = session_options.intra_op_num_threads
    if threads > 0 and _entry(session_options, PREFIX + "threads") == _entry(session_options, FOLLOWED):
        _set_entry(session_options, PREFIX + "threads", str(threads))
        _set_entry(session_options, FOLLOWED, str(threads))

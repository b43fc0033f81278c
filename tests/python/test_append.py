"""append_execution_provider on session options and on live sessions."""

import importlib

import onnxruntime as ort
import pytest

import onnxruntime_ep_spacemit

VERSION = tuple(map(int, ort.__version__.split(".")[:2]))


def appended(**options):
    session_options = ort.SessionOptions()
    session_options.append_execution_provider("Spacemit", options)
    return session_options


def provider_option(session, key):
    return session.get_session_options().get_session_config_entry(f"ep.spacemit.{key}")


def test_session_options(mlp):
    session = ort.InferenceSession(mlp.model, appended())
    assert session.get_providers()[0] == "Spacemit"
    mlp.check(session)


def test_appending_twice_changes_only_given_options(mlp):
    session_options = appended(threads="1", disable_ops="Softmax")
    session_options.append_execution_provider("Spacemit", {"threads": 2})
    session = ort.InferenceSession(mlp.model, session_options)
    assert session.get_providers() == ["Spacemit", "CPUExecutionProvider"]
    assert provider_option(session, "threads") == "2"
    assert provider_option(session, "disable_ops") == "Softmax"


def test_importing_again_wraps_nothing_twice():
    before = ort.InferenceSession.__init__, ort.SessionOptions.append_execution_provider
    importlib.reload(onnxruntime_ep_spacemit)
    assert (ort.InferenceSession.__init__, ort.SessionOptions.append_execution_provider) == before


@pytest.mark.parametrize("target", [ort.SessionOptions(), "session"])
def test_other_names_are_refused(target, mlp):
    target = ort.InferenceSession(mlp.model) if target == "session" else target
    with pytest.raises(ValueError, match="'SpaceMIT'"):
        target.append_execution_provider("SpaceMIT")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"intra_thread_numm": "2"}, "intra_thread_numm"),
        ({"threads": "-1"}, "threads"),
        ({"threads": "many"}, "threads"),
        ({"target": "k9"}, "target"),
    ],
)
def test_wrong_options_raise_and_are_named(mlp, options, words):
    with pytest.raises(Exception, match=words):
        ort.InferenceSession(mlp.model, appended(**options))


def test_live_session_moves(mlp):
    session_options = ort.SessionOptions()
    session_options.logid = "kept"
    session_options.add_session_config_entry("session.disable_prepacking", "1")
    session = ort.InferenceSession(mlp.model, session_options)
    session.append_execution_provider("Spacemit", {"threads": "1"})
    assert session.get_providers() == ["Spacemit", "CPUExecutionProvider"]
    assert session.get_session_options().logid == "kept"
    assert session.get_session_options().get_session_config_entry("session.disable_prepacking") == "1"
    mlp.check(session)
    # the caller's object still makes CPU sessions
    assert ort.InferenceSession(mlp.model, session_options).get_providers() == ["CPUExecutionProvider"]


def test_live_session_from_a_path_without_options(mlp, mlp_path):
    session = ort.InferenceSession(mlp_path)
    session.append_execution_provider("Spacemit")
    assert session.get_providers()[0] == "Spacemit"
    mlp.check(session)


def test_live_session_on_the_provider_is_left_alone(mlp):
    session = ort.InferenceSession(mlp.model, appended())
    before = session._sess
    session.append_execution_provider("Spacemit")
    assert session._sess is before
    session.append_execution_provider("Spacemit", {"threads": "1"})
    assert session._sess is not before
    assert provider_option(session, "threads") == "1"
    assert session.get_providers() == ["Spacemit", "CPUExecutionProvider"]


def test_failed_move_leaves_the_session(mlp):
    session = ort.InferenceSession(mlp.model)
    with pytest.raises(Exception, match="no_such_option"):
        session.append_execution_provider("Spacemit", {"no_such_option": "1"})
    assert session.get_providers() == ["CPUExecutionProvider"]
    mlp.check(session)


def test_options_copied_from_a_session_keep_the_provider(mlp):
    copied = ort.InferenceSession(mlp.model, appended()).get_session_options()
    assert ort.InferenceSession(mlp.model, copied).get_providers()[0] == "Spacemit"


def test_threads_follow_the_session_options(mlp):
    session_options = appended()
    for threads in (1, 2):
        session_options.intra_op_num_threads = threads
        session = ort.InferenceSession(mlp.model, session_options)
        assert provider_option(session, "threads") == str(threads)


def test_given_threads_win(mlp):
    session_options = appended(threads="1")
    session_options.intra_op_num_threads = 2
    assert provider_option(ort.InferenceSession(mlp.model, session_options), "threads") == "1"


@pytest.mark.parametrize("providers", [["Spacemit"], [("Spacemit", {"threads": "1"}), "CPUExecutionProvider"]])
def test_providers_by_name(mlp, providers):
    if VERSION < (1, 25):
        with pytest.raises(ValueError, match="cannot select Spacemit by providers"):
            ort.InferenceSession(mlp.model, providers=providers)
    else:
        session = ort.InferenceSession(mlp.model, providers=providers)
        assert session.get_providers()[0] == "Spacemit"
        mlp.check(session)


def test_wrong_options_by_name_raise(mlp):
    # before 1.25 onnxruntime cannot select plugins by name, which raises too
    message = "no_such_option" if VERSION >= (1, 25) else "cannot select Spacemit by providers"
    with pytest.raises(Exception, match=message):
        ort.InferenceSession(mlp.model, providers=[("Spacemit", {"no_such_option": "1"})])


def test_cpu_sessions_are_untouched(mlp):
    session = ort.InferenceSession(mlp.model)
    assert session.get_providers() == ["CPUExecutionProvider"]
    mlp.check(session)

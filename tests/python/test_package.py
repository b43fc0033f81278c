"""The package's functions, with any onnxruntime from 1.23 on and with none."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort
import pytest

import onnxruntime_ep_spacemit as spacemit


def python(script):
    """Run a script in a fresh interpreter and return what it prints."""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def spacemit_devices():
    return [device for device in ort.get_ep_devices() if device.ep_name == "Spacemit"]


def test_names_and_library():
    assert spacemit.get_ep_name() == "Spacemit"
    assert spacemit.get_ep_names() == ["Spacemit"]
    path = Path(spacemit.get_library_path())
    assert path.is_absolute()
    assert path.read_bytes()[:4] == b"\x7fELF"


def test_distribution_is_typed_and_requires_nothing():
    distribution = importlib.metadata.distribution("onnxruntime-ep-spacemit")
    assert distribution.requires is None
    assert distribution.version == spacemit.__version__
    assert distribution.metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert Path(spacemit.__file__).with_name("py.typed").exists()


def test_importing_does_not_register():
    script = (
        "import onnxruntime as ort, onnxruntime_ep_spacemit\nprint([device.ep_name for device in ort.get_ep_devices()])"
    )
    assert "Spacemit" not in python(script)


def test_register_is_idempotent_and_undone_by_unregister():
    spacemit.unregister()
    assert spacemit_devices() == []
    spacemit.register()
    spacemit.register()
    assert len(spacemit_devices()) == 1
    spacemit.unregister()
    spacemit.unregister()
    assert spacemit_devices() == []


def test_device_tells_vendor_and_version():
    [device] = spacemit.devices()
    assert device.ep_name == "Spacemit"
    assert device.device.type == ort.OrtHardwareDeviceType.CPU
    assert device.ep_vendor
    assert device.ep_metadata["version"] == spacemit.__version__


def test_plain_onnxruntime_way(mlp):
    script = (
        "import onnxruntime as ort, onnxruntime_ep_spacemit as spacemit\n"
        "ort.register_execution_provider_library('other name', spacemit.get_library_path())\n"
        "spacemit.register()\n"
        "assert len(spacemit.devices()) == 1\n"
        "device = next(one for one in ort.get_ep_devices() if one.ep_name == spacemit.get_ep_name())\n"
        "options = ort.SessionOptions()\n"
        "options.add_provider_for_devices([device], {'threads': '1'})\n"
        f"session = ort.InferenceSession({mlp.model!r}, options, enable_fallback=0)\n"
        "print(session.get_providers())"
    )
    assert python(script).strip() == "['Spacemit', 'CPUExecutionProvider']"


def test_import_without_onnxruntime():
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "import onnxruntime_ep_spacemit as spacemit\n"
        "print(spacemit.get_library_path())\n"
        "try: spacemit.register()\n"
        "except ImportError as error: print(error)"
    )
    path, message = python(script).splitlines()
    assert path == spacemit.get_library_path()
    assert "needs onnxruntime 1.23 or newer" in message


def test_too_old_onnxruntime_is_named():
    script = (
        "import sys, types\n"
        "old = types.ModuleType('onnxruntime'); old.__version__ = '1.22.1'\n"
        "sys.modules['onnxruntime'] = old\n"
        "import onnxruntime_ep_spacemit as spacemit\n"
        "try: spacemit.register()\n"
        "except ImportError as error: print(error)"
    )
    assert "1.23 or newer; installed is 1.22.1" in python(script)


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setattr("onnxruntime_ep_spacemit._registration.LIBRARY", "absent.so")
    with pytest.raises(FileNotFoundError, match=r"absent\.so is missing"):
        spacemit.get_library_path()

"""Builds the wheel (PEP 517, standard library only) around the plugin library.

The library is the file that SPACEMIT_EP_LIBRARY names; without it, cargo builds it.
"""

import base64
import hashlib
import os
import re
import struct
import subprocess
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODULE = "onnxruntime_ep_spacemit"
LIBRARY = f"lib{MODULE}.so"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}  # ELF e_machine


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel into ``wheel_directory`` and return its file name."""
    library = plugin_library()
    version = package_version()
    tag = f"py3-none-{platform_tag(library)}"
    info = f"{MODULE}-{version}.dist-info"
    files = {f"{MODULE}/{path.name}": path.read_bytes() for path in sorted((HERE / MODULE).iterdir()) if path.is_file()}
    files[f"{MODULE}/{LIBRARY}"] = library
    files[f"{info}/METADATA"] = metadata(version)
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {MODULE}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    for name in LICENCES:
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    name = f"{MODULE}-{version}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # the fixed date makes the build reproducible
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def plugin_library():
    """Content of the plugin library."""
    path = os.environ.get("SPACEMIT_EP_LIBRARY")
    if path is None:
        subprocess.run(["cargo", "build", "--release", "--package", "onnxruntime-ep-spacemit"], cwd=ROOT, check=True)
        path = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / LIBRARY
    return Path(path).read_bytes()


def package_version():
    """The workspace's version, which the module must state too."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    if f'__version__ = "{version}"' not in (HERE / MODULE / "__init__.py").read_text():
        raise RuntimeError(f"{MODULE}.__version__ is not the version of Cargo.toml, {version}")
    return version


def platform_tag(library):
    """manylinux tag from the machine and the newest glibc symbol version in the ELF file."""
    if library[:5] != b"\x7fELF\x02":
        raise RuntimeError(f"{LIBRARY} is not a 64-bit ELF file")
    machine = MACHINES[struct.unpack_from("<H", library, 18)[0]]
    minor = max(int(number) for number in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library))
    return f"manylinux_2_{minor}_{machine}"


def metadata(version):
    """The METADATA file: core metadata 2.4 with the README as description."""
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", "onnxruntime-ep-spacemit"),
        ("Version", version),
        ("Summary", "ONNX Runtime execution provider for SpacemiT RISC-V AI chips, with a host engine for PCs"),
        ("License-Expression", "MIT OR Apache-2.0"),
        *(("License-File", name) for name in LICENCES),
        ("Keywords", "onnx,onnxruntime,risc-v,spacemit,inference"),
        ("Classifier", "Operating System :: POSIX :: Linux"),
        ("Classifier", "Programming Language :: Python :: 3"),
        ("Classifier", "Programming Language :: Rust"),
        ("Classifier", "Typing :: Typed"),
        ("Requires-Python", ">=3.9"),
        ("Description-Content-Type", "text/markdown"),
    ]
    header = "".join(f"{key}: {value}\n" for key, value in fields)
    return (header + "\n" + (ROOT / "README.md").read_text()).encode()


def record(files, own_path):
    """RECORD: path, digest and size of every file."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return ("".join(lines) + f"{own_path},,\n").encode()

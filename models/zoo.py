"""Where the model files lie; builds what is missing."""

import importlib
import os
import sys
import time
from pathlib import Path

from models.manifest import MODELS


class Zoo:
    """The folder of built models, target/models unless another is given."""

    def __init__(self, folder=None):
        self.folder = Path(folder or Path(__file__).resolve().parent.parent / "target" / "models")
        self.folder.mkdir(parents=True, exist_ok=True)

    def need(self, name):
        """Path of model ``name``, built first unless it is there."""
        path = self.folder / f"{name}.onnx"
        if path.exists():
            return path
        print(f"building {name}", file=sys.stderr, flush=True)
        partial = self.folder / f"{name}.{os.getpid()}.partial.onnx"
        try:
            family = importlib.import_module(f"models.{MODELS[name].family}")
            family.BUILDERS[name](self, partial)
            partial.replace(path)  # a model is there whole or not at all
        finally:
            partial.unlink(missing_ok=True)
        return path


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

"""tv.py - makes `import torchvision` work without its compiled operators, as the
package does (python/cleave/vision.py), but with nothing built.

    from tv import torch, torchvision
"""
import importlib.util
import pathlib

import torch

_spec = importlib.util.spec_from_file_location(
    "cleave_vision", pathlib.Path(__file__).resolve().parents[2] /
    "python" / "cleave" / "vision.py")
vision = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(vision)
torchvision = vision.load()

if __name__ == "__main__":
    print("torch", torch.__version__, "torchvision", torchvision.__version__)

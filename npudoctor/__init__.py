"""npudoctor: move PyTorch reinforcement learning from CUDA to Ascend NPUs."""

from npudoctor.version import __version__

__all__ = ["__version__"]

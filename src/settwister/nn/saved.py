"""A model that knows its configuration, and saves and opens itself."""

from pathlib import Path
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.nn import storage


class Saved(nn.Module):
    """Base of all models; a subclass passes its constructor's arguments on as ``config``."""

    registry: ClassVar[dict[str, type["Saved"]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Saved.registry[cls.__name__] = cls

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = config
        self.in_dim = whole_number("in_dim", config["in_dim"])
        self.out_dim = whole_number("out_dim", config["out_dim"])

    def _like(self) -> Tensor:
        """A parameter, for its type and device."""
        return next(self.parameters())

    def num_parameters(self) -> int:
        """Trainable parameters."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    def save_pretrained(self, folder: str | Path, *, force: bool = False) -> None:
        """Write ``model.safetensors`` and ``config.json`` into a new folder; nothing is ever half written.

        Args:
            force: replace a folder that exists.
        """
        storage.save(self, type(self).__name__, self.config, Path(folder), force=force)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save_pretrained` wrote; called on a base class it opens any of its kind.

        No code from the folder runs, and nothing is allocated before names and shapes have been compared.
        """
        model = storage.load(Saved.registry, Path(folder))
        if not isinstance(model, cls):
            raise InputError(f"{folder} holds a {type(model).__name__}, expected a {cls.__name__}")
        return model

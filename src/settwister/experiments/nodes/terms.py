"""What the runs of one node table have in common: it is their folder's name, and what the table says of itself."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Terms:
    """Under which terms a node table is run.

    Args:
        protocol: how settings are found.
        smoke: only to see that everything works.
        splits: which of the graphs' own splits, where they were asked for.
        epochs: at most so many, where a number was asked for.

    Example:
        >>> terms = Terms("tuned", splits="geom", epochs=7)
        >>> terms.words(), terms.folder()
        ('protocol tuned, geom splits, at most 7 epochs', ['tuned', 'geom-splits', '7-epochs'])
    """

    protocol: str
    smoke: bool = False
    splits: str | None = None
    epochs: int | None = None

    def words(self) -> str:
        said = [f"protocol {self.protocol}", "budget smoke" if self.smoke else ""]
        said += [f"{self.splits} splits" if self.splits else "", f"at most {self.epochs} epochs" if self.epochs else ""]
        return ", ".join(filter(None, said))

    def folder(self) -> list[str]:
        """The parts of the name of the folder that the runs are in."""
        parts = ["smoke" if self.smoke else "", self.protocol]
        parts += [f"{self.splits}-splits" if self.splits else "", f"{self.epochs}-epochs" if self.epochs else ""]
        return list(filter(None, parts))

    def as_fields(self) -> dict[str, Any]:
        return {"protocol": self.protocol, "smoke": self.smoke, "splits": self.splits, "given_epochs": self.epochs}

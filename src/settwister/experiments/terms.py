"""What the runs of one table have in common: what the table says of itself."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Terms:
    """Under which terms tables are run: the arithmetic ones under a budget, the node table under a protocol.

    Args:
        protocol: how settings of node classifiers are found.
        budget: recipe, epochs and seeds of the arithmetic tables; ``"smoke"`` is for nodes too.
        splits: which of the graphs' own splits, where they were asked for.
        epochs: at most so many, where a number was asked for.
        holdout: whether digits for testing are held out.

    Example:
        >>> terms = Terms("tuned", splits="geom", epochs=7)
        >>> terms.words("nodes"), terms.folder_of_nodes()
        ('protocol tuned, geom splits, at most 7 epochs', ['tuned', 'geom-splits', '7-epochs'])
        >>> terms.words("integers")
        'budget quick, at most 7 epochs'
    """

    protocol: str = "quick"
    budget: str = "quick"
    splits: str | None = None
    epochs: int | None = None
    holdout: bool = False

    @property
    def smoke(self) -> bool:
        """Only to see that everything works."""
        return self.budget == "smoke"

    def words(self, table: str) -> str:
        if table == "nodes":
            said = [f"protocol {self.protocol}", "budget smoke" if self.smoke else ""]
            said += [f"{self.splits} splits" if self.splits else ""]
        else:
            said = [f"budget {self.budget}", "digits held out" if self.holdout and table.startswith("images") else ""]
        said += [f"at most {self.epochs} epochs" if self.epochs else ""]
        return ", ".join(filter(None, said))

    def folder_of_nodes(self) -> list[str]:
        """The parts of the name of the folder that the node table's runs are in."""
        parts = ["smoke" if self.smoke else "", self.protocol]
        parts += [f"{self.splits}-splits" if self.splits else "", f"{self.epochs}-epochs" if self.epochs else ""]
        return list(filter(None, parts))

    def as_fields(self, table: str) -> dict[str, Any]:
        """For every row of ``reproduce --json``."""
        if table == "nodes":
            own = {"protocol": self.protocol, "smoke": self.smoke, "splits": self.splits}
        else:
            own = {"budget": self.budget, "holdout_digits": self.holdout and table.startswith("images")}
        return own | {"given_epochs": self.epochs}

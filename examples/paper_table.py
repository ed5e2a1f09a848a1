"""One cell of the paper's tables from Python: a published architecture, trained as you like, beside its number.

python examples/paper_table.py
"""

from settwister.experiments import Cell
from settwister.training import Recipe, train


def main(epochs: int = 12, sequences: int = 30_000) -> float:
    cell = Cell("integers", "set_twister_m2_k2", "variance")
    data = cell.data(train=sequences, validation=2_000, test=2_000)
    recipe = Recipe(epochs=epochs, learning_rate=5e-3)
    found = train(cell.build, data.generate, seeds=[0], recipe=recipe, compiled=False)[0]
    published = cell.published()
    assert published is not None
    print(f"test MAE {found.test:.2f} after {epochs} epochs; the paper's {published['mean']:.3f} took 2,000")
    return found.test


if __name__ == "__main__":
    main()

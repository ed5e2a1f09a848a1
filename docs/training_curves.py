"""Draws the paper's training-curve figure from the run files in results/: ``make docs``.

Maxmin over 20 integers with M = 2, 3, 4 sums, once with d_rep shrinking as M grows (equal cost), once with it fixed.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from settwister.experiments import Cell, RunStore

mpl.use("Agg")
mpl.rcParams |= {"svg.hashsalt": "settwister", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
import matplotlib.pyplot as plt  # noqa: E402 (the backend is chosen first)

ROOT = Path(__file__).parent.parent
PANELS = {
    "maxmin_length": r"$d_{rep}$ = 120 / M, tanh: cost as M = 2",
    "maxmin_fixed_width": r"$d_{rep}$ = 120, ReLU: cost grows with M",
}
LINES = {"train_score": ":", "validation_score": "-"}


def mean_curve(store: RunStore, cell: Cell, name: str) -> np.ndarray:
    """Averaged over the seeds that were run; empty where none was."""
    runs = [run for seed in range(5) if (run := store.read(cell, seed)) is not None]
    return np.mean([run["curves"][name] for run in runs], axis=0) if runs else np.empty(0)


def draw(path: Path) -> None:
    store = RunStore(ROOT / "results", "quick", only_read=True)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
    for panel, (table, heading) in zip(axes, PANELS.items(), strict=True):
        for M in (2, 3, 4):
            for name, style in LINES.items():
                curve = mean_curve(store, Cell(table, f"set_twister_m{M}_k2", "n20"), name)
                label = f"M = {M}" if name == "validation_score" else None
                panel.plot(np.arange(1, len(curve) + 1), curve, style, color=f"C{M - 2}", linewidth=1.4, label=label)
        panel.set(title=heading, xlabel="epoch")
        panel.grid(alpha=0.25)
    axes[0].set(ylabel="accuracy, maxmin of 20 integers")
    axes[0].legend(frameon=False, title="solid: validation\ndotted: training", loc="upper left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(ROOT / "docs" / "img" / "training_curves.svg")

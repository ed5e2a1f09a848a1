"""Draws the two pictures of docs/theory.md: ``make docs``."""

from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from torch import Tensor

import settwister as st
from settwister.theory import error_in_mean

mpl.use("Agg")
mpl.rcParams |= {"svg.hashsalt": "settwister", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
import matplotlib.pyplot as plt  # noqa: E402 (the backend is chosen first)

IMAGES = Path(__file__).parent / "img"


def theorem_1() -> None:
    """The error in mean of Legendre expansions against the number of basis functions."""
    functions: dict[str, tuple[Callable[..., Tensor], int, Iterable[int], int, str]] = {
        "exp(−(x−y)²), smooth": (lambda x, y: torch.exp(-((x - y) ** 2)), 2, range(1, 15), 100, "o-"),
        "|x−y|, a kink": (lambda x, y: (x - y).abs(), 2, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64), 1500, "s-"),
        "xyz, a polynomial": (lambda x, y, z: x * y * z, 3, range(1, 7), 20, "^-"),
    }
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, (f, k, sizes, nodes, style) in functions.items():
        errors = [max(error_in_mean(f, k, M, nodes), 1e-17) for M in sizes]
        axes.loglog(list(sizes), errors, style, markersize=4, label=f"{name} (k={k})")
    guide = np.array([8, 64])
    axes.loglog(guide, 0.9 * guide**-1.5, "k:", linewidth=1)
    axes.annotate("M$^{-3/2}$", (24, 0.9 * 24**-1.5), textcoords="offset points", xytext=(4, 6))
    axes.axhline(np.finfo(float).eps, color="grey", linewidth=0.8, linestyle="--")
    axes.annotate(
        "float64 rounding", (16, np.finfo(float).eps), textcoords="offset points", xytext=(0, 4), color="grey"
    )
    axes.set(xlabel="M, basis functions (learned sums)", ylabel="root mean squared error on $[-1, 1]^k$")
    axes.set_xticks(ticks := [2**i for i in range(7)], labels=[str(M) for M in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.45))
    figure.savefig(IMAGES / "theorem1.svg", metadata={"Date": None})
    plt.close(figure)


def theorem_2() -> None:
    """The mixed derivative on n elements of randomly initialised twists of order k: 0 wherever k < n."""
    orders, sizes = range(1, 6), range(1, 6)
    found = np.zeros((len(sizes), len(orders)))
    torch.manual_seed(0)
    for i, n in enumerate(sizes):
        for j, k in enumerate(orders):
            model = st.SetTwister(
                1, 1, (32, 32), (), M=2, k=k, form="multiset", norm=None, lower_orders="sum", activation="tanh"
            ).double()
            h = torch.randn(n, dtype=torch.double, requires_grad=True)
            value = model(st.Sets.dense(h.reshape(1, n, 1)))[0, 0]
            for element in range(n):
                (gradient,) = torch.autograd.grad(value, h, create_graph=True, materialize_grads=True)
                value = gradient[element] + 0 * h.sum()
            found[i, j] = abs(value.item())
    figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
    picture = axes.imshow(np.log10(np.maximum(found, 1e-18)), origin="lower", cmap="viridis", vmin=-18, vmax=1)
    for i, j in np.ndindex(found.shape):
        text = f"{found[i, j]:.0e}" if found[i, j] else "0"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color="black" if found[i, j] > 1e-6 else "white")
    axes.set_xticks(range(len(orders)), labels=[str(k) for k in orders])
    axes.set_yticks(range(len(sizes)), labels=[str(n) for n in sizes])
    axes.set(xlabel="k, order of the twist", ylabel="n, elements differentiated once each")
    axes.set_title("|∂ⁿf / ∂h₁ … ∂hₙ| of a random Set Twister, linear rho", fontsize=10)
    figure.colorbar(picture, label="log10", shrink=0.8)
    figure.savefig(IMAGES / "theorem2.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    theorem_1()
    theorem_2()

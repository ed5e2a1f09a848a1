"""A batch of sets: distinct elements, and the incidence that says which set holds which."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from settwister._checks import tensor
from settwister.errors import InputError
from settwister.functional.autocast import full_precision
from settwister.functional.incidence import Grid, Incidence, Matrix
from settwister.functional.neighbour_sum import Csr


@dataclass(eq=False)
class Bucket:
    """Nonempty sets of similar size, side by side.

    Args:
        rows: (b,) which sets these are.
        index: (b, n) their elements, in the order in which the batch holds them, padded at the end.
        mask: (b, n), True where an element is real; None where all are.
    """

    rows: Tensor
    index: Tensor
    mask: Tensor | None

    def sorted_by(self, keys: Tensor) -> Tensor:
        """``index`` with every set in ascending order of its keys, (b, n), and padding still at the end."""
        if self.mask is not None:
            last = torch.finfo(keys.dtype).max if keys.is_floating_point() else torch.iinfo(keys.dtype).max
            keys = torch.where(self.mask, keys, last)
        return self.index.gather(1, keys.argsort(dim=1, stable=True))


class Sets:
    """A batch of B sets over U distinct elements: ``S = A · phi(E)`` with E the elements and A the incidence.

    Build one with :meth:`dense`, :meth:`ragged`, :meth:`indexed`, :meth:`bags` or :meth:`neighbours`; a model gives the
    same answer from every layout that describes the same sets. Nothing given is changed in place.

    Example:
        >>> sets = Sets.ragged(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([0, 2, 2, 3]))
        >>> sets
        Sets(3 sets, 3 elements of 1 feature, Csr)
        >>> sets.sum(sets.elements).flatten().tolist()
        [3.0, 0.0, 3.0]
    """

    def __init__(self, elements: Tensor, incidence: Incidence) -> None:
        self.elements = elements
        self.incidence = incidence

    # ---- the five layouts -------------------------------------------------------------------------------------------

    @classmethod
    def dense(cls, x: Any, mask: Any = None, *, check: bool = True) -> "Sets":
        """Sets of one length, or padded to one length.

        Args:
            x: (B, n, d).
            mask: (B, n) booleans, True where an element is real; what stands in the other places is ignored.
            check: look at every value for NaN and infinity.
        """
        x = _floats("x", x, dims=3, shape="(sets, elements, features)")
        num_sets, length, width = x.shape
        if mask is not None:
            mask = tensor("mask", mask)
            if mask.dtype != torch.bool or mask.shape != x.shape[:2]:
                raise InputError(
                    f"mask is {_described(mask)}, expected booleans of shape {tuple(x.shape[:2])} to go with x of "
                    f"shape {tuple(x.shape)}"
                )
            _same_device(x, mask=mask)
            x = torch.where(mask.unsqueeze(-1), x, 0)
        elements = x.reshape(num_sets * length, width)
        if check:
            _finite("x", elements)
        return cls(elements, Grid(num_sets, length, mask, x.device))

    @classmethod
    def ragged(cls, x: Any, ptr: Any, *, check: bool = True) -> "Sets":
        """Sets one after the other.

        Args:
            x: (N, d), the elements of all sets.
            ptr: (B + 1,) offsets: set b is ``x[ptr[b]:ptr[b + 1]]``.
            check: look at every value of x and ptr.
        """
        x = _floats("x", x, dims=2, shape="(elements, features)")
        ptr = _integers("ptr", ptr, dims=1, shape="(sets + 1,)")
        _same_device(x, ptr=ptr)
        if ptr.shape[0] == 0:
            raise InputError("ptr is empty, expected one more offset than there are sets, starting with 0")
        if _looking(check):
            if int(ptr[0]) != 0 or int(ptr[-1]) != x.shape[0]:
                raise InputError(
                    f"ptr runs from {int(ptr[0])} to {int(ptr[-1])}, expected from 0 to {x.shape[0]}, the rows of x"
                )
            falls = (ptr[1:] < ptr[:-1]).nonzero()
            if falls.numel():
                b = int(falls[0])
                raise InputError(
                    f"ptr falls from {int(ptr[b])} to {int(ptr[b + 1])} at set {b}, expected offsets that never fall"
                )
            _finite("x", x)
        return cls(x, Csr.from_segments(ptr, x.shape[0]))

    @classmethod
    def indexed(cls, x: Any, index: Any, num_sets: int, *, check: bool = True) -> "Sets":
        """Elements in any order, each with the number of its set.

        Args:
            x: (N, d).
            index: (N,) set numbers from 0 to ``num_sets - 1``, sorted or not.
            num_sets: B; sets that no element names are empty.
            check: look at every value of x and index.
        """
        x = _floats("x", x, dims=2, shape="(elements, features)")
        index = _integers("index", index, dims=1, shape=f"({x.shape[0]},)")
        _same_device(x, index=index)
        if index.shape[0] != x.shape[0]:
            raise InputError(f"index has {index.shape[0]} entries, expected {x.shape[0]}, one per row of x")
        if num_sets < 0:
            raise InputError(f"num_sets is {num_sets}, expected 0 or more")
        if _looking(check):
            _in_range("index", index, num_sets, "num_sets")
            _finite("x", x)
        return cls(x, Csr.from_partition(index, num_sets))

    @classmethod
    def bags(cls, elements: Any, counts: Any, *, check: bool = True) -> "Sets":
        """Sets over a shared vocabulary, as counts.

        Args:
            elements: (U, d), the distinct elements.
            counts: (B, U), how often each set holds each element: a torch sparse (COO or CSR) or scipy sparse matrix,
                or a dense one, which is faster where U is small. Weights that are not whole are allowed; models that
                look at pairs or orders refuse them.
            check: look at every value.
        """
        elements = _floats("elements", elements, dims=2, shape="(distinct elements, features)")
        if hasattr(counts, "tocoo"):  # scipy
            coo = counts.tocoo()
            pairs = torch.as_tensor(coo.row).long(), torch.as_tensor(coo.col).long()
            shape, dense, weight = coo.shape, None, torch.as_tensor(coo.data)
        else:
            counts = tensor("counts", counts)
            shape = tuple(counts.shape)
            if counts.layout == torch.strided:
                dense = counts
            else:
                coo = counts.to_sparse_coo().coalesce()
                dense, pairs, weight = None, tuple(coo.indices()), coo.values()
        if len(shape) != 2 or shape[1] != elements.shape[0]:
            raise InputError(
                f"counts has shape {tuple(shape)}, expected (sets, {elements.shape[0]}), a column per distinct element"
            )
        held = weight if dense is None else dense
        _same_device(elements, counts=held)
        held = held.to(elements.dtype)
        if _looking(check):
            _finite("elements", elements)
            _finite("counts", held)
        if dense is not None:
            return cls(elements, Matrix(held))
        csr = Csr.from_pairs(*pairs, shape[0], shape[1], None if bool((held == 1).all()) else held)
        return cls(elements, _ready(csr))

    @classmethod
    def neighbours(cls, x: Any, edges: Any, weight: Any = None, *, check: bool = True) -> "Sets":
        """Every node's neighbourhood as a set: set v holds the features of v's sources, edges as given.

        Args:
            x: (N, d) node features.
            edges: (2, E) node ids, source → target.
            weight: (E,) edge weights, which may require gradients; 1 where left out.
            check: look at every value.
        """
        x = _floats("x", x, dims=2, shape="(nodes, features)")
        edges = _integers("edges", edges, dims=2, shape="(2, edges)")
        if edges.shape[0] != 2:
            raise InputError(f"edges is {_described(edges)}, expected shape (2, edges): sources above targets")
        _same_device(x, edges=edges)
        if _looking(check):
            _in_range("edges", edges, x.shape[0], "the rows of x")
            _finite("x", x)
        if weight is not None:
            weight = _floats("weight", weight, dims=1, shape=f"({edges.shape[1]},)")
            _same_device(x, weight=weight)
            if weight.shape[0] != edges.shape[1]:
                raise InputError(f"weight has {weight.shape[0]} entries, expected {edges.shape[1]}, one per edge")
            if check:
                _finite("weight", weight)
        return cls(x, _ready(Csr.from_pairs(edges[1], edges[0], x.shape[0], x.shape[0], weight)))

    # ---- what models ask --------------------------------------------------------------------------------------------

    @property
    def num_sets(self) -> int:
        """B, also ``len(sets)``."""
        return self.incidence.num_sets

    @property
    def dim(self) -> int:
        """Features per element."""
        return self.elements.shape[1]

    def sum(self, values: Tensor) -> Tensor:
        """Sum per-element values over each set: (U, …) → (B, …), in at least float32; an empty set gives 0."""
        if values.dtype in (torch.float16, torch.bfloat16):
            values = values.float()
        with full_precision(values.device.type):
            summed = self.incidence.sum(values.flatten(1))
        return summed.reshape(-1, *values.shape[1:])

    def sizes(self, like: Tensor) -> Tensor:
        """(B,) how many elements each set holds, or how much absolute weight, in the type of ``like``."""
        return self.incidence.sizes(like)

    def with_elements(self, elements: Tensor) -> "Sets":
        """The same sets over other elements: (U, d') in place of (U, d)."""
        if elements.shape[0] != self.elements.shape[0]:
            raise InputError(
                f"{elements.shape[0]} elements given, expected {self.elements.shape[0]}, as these sets have"
            )
        return Sets(elements, self.incidence)

    def take(self, rows: Tensor) -> "Sets":
        """Some of the sets, in the given order, over the elements that they hold.

        >>> Sets.dense(torch.randn(4, 5, 3)).take(torch.tensor([2, 0]))
        Sets(2 sets, 10 elements of 3 features, Grid)
        """
        if isinstance(self.incidence, Matrix):  # few elements: all of them stay
            return Sets(self.elements, Matrix(self.incidence.counts[rows]))
        if isinstance(self.incidence, Grid):
            grid = self.elements.unflatten(0, (self.num_sets, self.incidence.length))[rows]
            mask = None if self.incidence.mask is None else self.incidence.mask[rows]
            return Sets(grid.flatten(0, 1), Grid(len(rows), self.incidence.length, mask, self.elements.device))
        assert isinstance(self.incidence, Csr)
        held = self.incidence.take(rows)
        used, index = held.index.long().unique(return_inverse=True)
        incidence = Csr(held.ptr, index.to(held.index.dtype), len(used), held.weight)
        return Sets(self.elements[used], _ready(incidence))

    def map(self, function: Callable[[Bucket], Tensor], empty: Tensor) -> Tensor:
        """What models of pairs and orders compute: ``function`` of the nonempty sets, ``empty`` for the others.

        Args:
            function: from a bucket of b sets to (b, F).
            empty: (F,).

        Returns:
            (B, F)
        """
        out = empty.expand(self.num_sets, -1)
        for bucket in self.buckets():
            out = out.index_copy(0, bucket.rows, function(bucket).to(out.dtype))
        return out

    def buckets(self) -> Iterator[Bucket]:
        """The nonempty sets, grouped by size so that padding at most doubles the work."""
        if isinstance(self.incidence, Grid) and self.incidence.mask is None and self.incidence.length:
            places = torch.arange(self.incidence.num_elements, device=self.elements.device)
            rows = torch.arange(self.num_sets, device=self.elements.device)
            yield Bucket(rows, places.unflatten(0, (self.num_sets, self.incidence.length)), None)
            return
        held = self.incidence.occurrences()
        lengths = held.lengths.long()
        size_class = torch.ceil(torch.log2(lengths.double().clamp(min=1)))
        size_class[lengths == 0] = -1
        for wanted in torch.unique(size_class).tolist():
            if wanted < 0:
                continue
            rows = (size_class == wanted).nonzero().squeeze(-1)
            places = torch.arange(int(lengths[rows].max()), device=rows.device)
            mask = places < lengths[rows].unsqueeze(-1)
            position = torch.where(mask, held.ptr[rows].long().unsqueeze(-1) + places, 0)
            yield Bucket(rows, held.index[position].long(), None if bool(mask.all()) else mask)

    def to(self, target: torch.device | torch.dtype | str) -> "Sets":
        """The same sets on another device, or with elements of another type."""
        elements = self.elements.to(target)
        return Sets(elements, self.incidence.to(elements.device))

    def __len__(self) -> int:
        return self.num_sets

    def __repr__(self) -> str:
        features = "1 feature" if self.dim == 1 else f"{self.dim} features"
        return (
            f"Sets({self.num_sets} sets, {self.elements.shape[0]} elements of {features}, "
            f"{type(self.incidence).__name__})"
        )


def _ready(csr: Csr) -> Csr:
    """With its transpose if gradients may be asked for: it costs one sort, and only the backward pass reads it."""
    return csr.with_transpose() if torch.is_grad_enabled() else csr


def _looking(check: bool) -> bool:
    """Checks of values read data back, which a graph being traced cannot do."""
    return check and not torch.compiler.is_compiling()


def _described(x: Tensor) -> str:
    return f"{str(x.dtype).removeprefix('torch.')} of shape {tuple(x.shape)}"


def _floats(name: str, given: Any, *, dims: int, shape: str) -> Tensor:
    x = tensor(name, given)
    if x.dim() != dims or not x.is_floating_point():
        raise InputError(f"{name} is {_described(x)}, expected floating-point numbers of shape {shape}")
    return x


def _integers(name: str, given: Any, *, dims: int, shape: str) -> Tensor:
    x = tensor(name, given)
    if x.dim() != dims or x.dtype not in (torch.int64, torch.int32):
        raise InputError(f"{name} is {_described(x)}, expected int64 or int32 of shape {shape}")
    return x.long()


def _same_device(x: Tensor, **others: Tensor) -> None:
    for name, other in others.items():
        if other.device != x.device:
            raise InputError(f"{name} is on {other.device}, expected {x.device}, where the elements are")


def _finite(name: str, x: Tensor) -> None:
    if torch.compiler.is_compiling():
        return
    # A finite sum has only finite terms: one pass without a temporary, and the search only where that fails.
    if bool(x.detach().sum().isfinite()):
        return
    bad = (~x.detach().isfinite()).nonzero()
    if bad.shape[0]:
        place = tuple(bad[0].tolist())
        where = f"row {place[0]}" if len(place) == 1 else f"row {place[0]}, column {place[1]}"
        raise InputError(
            f"{name} has {bad.shape[0]} values that are NaN or infinite, the first {x[place].item()} at {where}, "
            "expected finite numbers: drop or fill those rows first"
        )


def _in_range(name: str, index: Tensor, stop: int, stop_name: str) -> None:
    if index.numel() and (int(index.min()) < 0 or int(index.max()) >= stop):
        bad = index[(index < 0) | (index >= stop)][0]
        raise InputError(f"{name} holds {int(bad)}, expected ids from 0 to {stop - 1} (below {stop}, {stop_name})")

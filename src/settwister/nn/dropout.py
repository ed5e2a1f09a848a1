"""Dropout as a module."""

from torch import Tensor, nn

from settwister.functional.dropout import dropout, relu_dropout


class Dropout(nn.Dropout):
    """torch's Dropout with cheaper randomness, see :func:`~settwister.functional.dropout`."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)


class ReluDropout(nn.Dropout):
    """ReLU, then dropout."""

    def forward(self, x: Tensor) -> Tensor:
        return relu_dropout(x, self.p, self.training)

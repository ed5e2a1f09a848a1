"""torch.func: ensembles, gradients and Jacobians of what is summed over neighbours."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap

import settwister as st
from example_nodes import MODELS, example, sparse
from settwister.nn.nodes import NodeBatch
from settwister.pyg import TwisterAggregation

EDGES = torch.tensor([[0, 1, 2, 2], [1, 1, 0, 3]])
INDEX = torch.tensor([0, 0, 1, 1, 3])


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_an_ensemble_is_what_its_members_are(name: str, stored: bool) -> None:
    """Outputs, gradients and, with dropout, a loss that can be differentiated."""
    graph = example()
    assert isinstance(graph.x, Tensor)
    batch = NodeBatch(sparse(graph.x) if stored else graph.x, graph.neighbours)
    members = [MODELS[name]().eval() for _ in range(3)]
    parameters, buffers = stack_module_state(members)
    base = deepcopy(members[0])

    def loss(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        out = functional_call(base, (parameters, buffers), (batch,))
        return out.square().sum(), out

    gradients, outputs = vmap(grad(loss, has_aux=True))(parameters, buffers)
    for i, member in enumerate(members):
        torch.testing.assert_close(outputs[i], member(batch), atol=1e-5, rtol=1e-4)
        member(batch).square().sum().backward()
        for key, parameter in member.named_parameters():
            torch.testing.assert_close(gradients[key][i], parameter.grad, atol=1e-4, rtol=1e-3)
    base.train()
    gradients, outputs = vmap(grad(loss, has_aux=True), randomness="different")(parameters, buffers)
    assert all(bool(one.isfinite().all()) for one in (*gradients.values(), outputs))


def test_derivatives_of_sets_by_elements_and_weights() -> None:
    model, x, weight = st.SetTwister(3, 2), torch.randn(5, 3), torch.rand(4)

    def read(x: Tensor, weight: Tensor | None = None) -> Tensor:
        out: Tensor = model(st.Sets.neighbours(x, EDGES, weight, check=False))
        return out

    expected = torch.autograd.functional.jacobian(read, (x, weight))
    torch.testing.assert_close(jacrev(read, argnums=(0, 1))(x, weight), expected)
    torch.testing.assert_close(jvp(read, (x,), (x,))[1], (jacrev(read)(x) * x).sum((-2, -1)))
    curvature = torch.autograd.functional.hessian(lambda x: read(x).sum(), x)
    torch.testing.assert_close(hessian(lambda x: read(x).sum())(x), curvature, atol=1e-5, rtol=1e-4)


def test_many_messages_are_aggregated_at_once() -> None:
    aggregation, x = TwisterAggregation(3), torch.randn(4, 5, 3)
    found = vmap(lambda one: aggregation(one, INDEX, dim_size=4))(x)
    torch.testing.assert_close(found, torch.stack([aggregation(one, INDEX, dim_size=4) for one in x]))

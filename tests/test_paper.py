"""The paper's counts, all of them, and its architectures by name."""

import pytest

import settwister as st
from settwister import InputError, paper
from settwister.nn import BlockLinear


def test_all_22_parameter_counts_are_equal() -> None:
    counts = paper.parameter_counts()
    assert len(counts) == 22
    assert [c.ours for c in counts] == [c.paper for c in counts]


def test_all_8_costs_of_figure_1_are_equal() -> None:
    counts = paper.figure1_counts()
    assert len(counts) == 8
    assert [c.ours for c in counts] == [c.paper for c in counts]


def test_operations_grow_linearly_in_the_set() -> None:
    twister = st.SetTwister(10, 2, phi=(12, 12), M=3, form="multiset", lower_orders=None, norm=None, bias=False)
    costs = [paper.operations(twister, n) for n in (10, 20, 30)]
    assert costs[2] - costs[1] == costs[1] - costs[0]


SET_TABLES = [name for name in paper.published() if name.startswith(("images", "integers", "maxmin"))]


@pytest.mark.parametrize("table", SET_TABLES)
def test_every_cell_of_every_arithmetic_table_has_its_model(table: str) -> None:
    for task in paper.tasks_of(table):
        for name in paper.models_of(table):
            model = paper.model(table, name, task)
            assert model.num_parameters() > 0
            if "linear_rho" in table:
                assert len(model.rho) == 1
            if name.startswith(("set_twister", "deepsets")):
                relu = "relu" in table or "fixed_width" in table
                assert model.config["activation"] == ("relu" if relu else "tanh")


def test_the_papers_twister_is_its_code() -> None:
    model = paper.model("maxmin_length", "set_twister_m3_k2", "n20")
    assert isinstance(model, st.SetTwister)
    assert [isinstance(layer, BlockLinear) for layer in model.phi][::2] == [False, True]
    assert model.twist.alpha["2"].shape == (9, 40)
    assert model.twist.norms is None
    assert paper.model("maxmin_length", "set_twister_m3_k3").twist.alpha["3"].shape == (27, 20)


def test_a_fixed_width_gives_every_branch_120() -> None:
    for M in (2, 3, 4):
        assert paper.model("maxmin_fixed_width", f"set_twister_m{M}_k2", "n10").twist.dim == 120


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nodes", "deepsets"), "table 'nodes' has no set models, expected one of images, integers"),
        (("floats", "deepsets"), "table 'floats' has no set models"),
        (("integers", "deepsets", "median"), "has no task 'median', expected one of variance, range, maxmin"),
        (("integers_relu", "deepsets", "maxmin"), "has no task 'maxmin', expected one of variance, range"),
        (("integers", "gcn"), "unknown model 'gcn', expected one of set_twister_mM_kK, deepsets"),
    ],
)
def test_unknown_names_list_the_known_ones(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        paper.model(*arguments)
    assert message in str(caught.value)


def test_published_numbers_are_complete() -> None:
    tables = paper.published()
    assert tables["integers"]["rows"][0]["variance_mae"] == {"mean": 0.333, "std": 0.008}
    assert len(tables["nodes"]["rows"]) == 9
    with pytest.raises(InputError, match="unknown table 'tables', expected one of images, integers, nodes"):
        paper.table("tables")

"""A made-up social network as two tables, as somebody might export them: people, and who knows whom."""

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from settwister.extras import needs
from settwister.tasks.streams import stream

if TYPE_CHECKING:
    import polars

CITIES = ("Accra", "Berlin", "Cusco", "Delhi", "Espoo", "Fez", "Genoa", "Hanoi", "Izmir", "Jaipur", "Kyoto", "Lagos")
HOBBIES = (
    "chess",
    "choir",
    "cooking",
    "football",
    "gardening",
    "hiking",
    "painting",
    "photography",
    "reading",
    "sailing",
)
KINDS = ("local", "mixed", "worldly")
MISSING, UNLABELLED, WRONG = 0.1, 0.3, 0.05  # shares of gaps, of people of unknown kind, and of wrong ones


def social_tables(people: int = 3000, seed: int = 0) -> tuple["polars.DataFrame", "polars.DataFrame"]:
    """People with a kind that says how different the cities of their friends are, and their friendships.

    Nothing in a person's own row gives the kind away, and no single friend does: it is about pairs of friends.
    """
    needs("a table", "tables", "polars")
    import polars as pl

    made = stream(seed, "social")
    city = made.integers(len(CITIES), size=people)
    at_home = made.beta(0.5, 0.5, people)  # how much of a person's circle is from one city
    by_city = [np.flatnonzero(city == c) for c in range(len(CITIES))]
    pairs = []
    for person in range(people):
        home = made.integers(len(CITIES))  # the circle's city need not be one's own
        for _ in range(made.poisson(6) + 2):
            near = made.random() < at_home[person] and len(by_city[home])
            friend = int(made.choice(by_city[home]) if near else made.integers(people))
            pairs.append((person, friend))
    source, target = np.array(pairs).T
    friends = np.zeros((people, len(CITIES)))
    np.add.at(friends, (source, city[target]), 1)
    np.add.at(friends, (target, city[source]), 1)
    share = friends / friends.sum(1, keepdims=True).clip(1)
    different = 1 - (share**2).sum(1)  # the chance that two friends are of different cities
    kind = np.digitize(different, np.quantile(different, [1 / 3, 2 / 3]))
    wrong = made.random(people) < WRONG
    kind[wrong] = made.integers(len(KINDS), size=int(wrong.sum()))

    def gaps(values: list[Any], share: float = MISSING) -> list[Any]:
        return [None if gap else value for value, gap in zip(values, made.random(people) < share, strict=True)]

    hobbies = [" and ".join(made.choice(HOBBIES, 2, replace=False)) for _ in range(people)]
    joined = [date(2019, 1, 1) + timedelta(days=int(day)) for day in made.integers(2000, size=people)]
    nodes = pl.DataFrame(
        {
            "person": [f"p{number:04d}" for number in range(people)],
            "age": gaps(made.normal(38, 12, people).clip(16, 90).round().astype(int).tolist()),
            "city": gaps([CITIES[c] for c in city], share=0.02),
            "joined": joined,
            "premium": (made.random(people) < 0.2).tolist(),
            "about": gaps([f"I like {both}" for both in hobbies]),
            "kind": gaps([KINDS[k] for k in kind], UNLABELLED),
        }
    )
    names = nodes["person"].to_numpy()
    return nodes, pl.DataFrame({"source": names[source], "target": names[target]})

"""Your own tables: people and friendships in, a judged and saved classifier and predictions out.

    python examples/own_tables.py [FOLDER]

Needs ``pip install 'settwister[tables]'``.
"""

import sys
import tempfile
from pathlib import Path

from settwister import TableClassifier
from settwister.demo.social import social_tables


def main(folder: Path) -> None:
    people, friends = social_tables(people=1500)  # put paths of your own Parquet or CSV files here instead
    model = TableClassifier(id="person", target="kind").fit(people, friends)
    judged = model.evaluation_
    print(f"{judged.accuracy:.1%} of {judged.nodes} test people are right; the commonest kind is {judged.majority:.1%}")
    model.save(folder / "model", force=True)  # with report.html beside the weights
    predictions = TableClassifier.load(folder / "model").predict(people, friends)
    print(predictions.head(3))
    why = model.explain("p0001", people, friends)
    print(f"{why.node} is {why.prediction}; most of all because of {why.neighbours[0]['node']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))

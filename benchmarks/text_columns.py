"""Why free text is read as it is: our hashed encoder against skrub's, by accuracy and by what is kept of each.

    python benchmarks/text_columns.py [texts ...]

Made-up texts of eight topics: words of syllables, with endings as languages have them, a third of them the topic's
own. A linear and a neural reader learn the topic from the encoders' numbers; accuracy is that on new texts, the mean of
three seeds. What is kept is written as in a model's folder, by skops and packed. About two minutes on one core.
"""

import itertools
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import skops.io
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skrub import MinHashEncoder, StringEncoder

from settwister import OneHopClassifier
from settwister.tables.text import BUCKETS, COMPONENTS, TextEncoder

TRAINING, TEST, SEEDS = (300, 3_000), 2_000, (0, 1, 2)
TOPICS, WORDS, OWN, OWN_SHARE = 8, 5_000, 40, 1 / 3
SYLLABLES = [
    "".join(letters) for letters in itertools.product("bcdfghjklmnprstvwz", "aeiouy", ["", "l", "n", "r", "s"])
]
ENDINGS = ("", "s", "ed", "ing", "er", "ation")


def texts(count: int, seed: int) -> tuple[pl.Series, NDArray[np.int64]]:
    """Texts and their topics; the language, its words and topics, is the same for every seed."""
    language, made = np.random.default_rng(0), np.random.default_rng(1 + seed)
    words = np.array(["".join(language.choice(SYLLABLES, language.integers(2, 4))) for _ in range(WORDS)])
    common = 1 / np.arange(1, WORDS + 1)
    own = np.stack([language.choice(WORDS, OWN, replace=False) for _ in range(TOPICS)])
    topics = made.integers(TOPICS, size=count)
    found = []
    for topic in topics:
        length = int(made.integers(4, 13))
        drawn = made.choice(WORDS, length, p=common / common.sum())
        drawn = np.where(made.random(length) < OWN_SHARE, made.choice(own[topic], length), drawn)
        found.append(" ".join(words[drawn].astype(object) + made.choice(ENDINGS, length).astype(object)))
    return pl.Series("text", found), topics


class Ours:
    """Free text as a table's encoder reads it, with so many buckets."""

    def __init__(self, buckets: int = BUCKETS) -> None:
        self.buckets = buckets

    def fit(self, column: pl.Series) -> "Ours":
        self.encoder = TextEncoder.fit(column, self.buckets)
        return self

    def transform(self, column: pl.Series) -> NDArray[np.float32]:
        return self.encoder.transform(column)

    @property
    def kept(self) -> Any:
        return [self.encoder.rarity, self.encoder.directions]


class Skrubs:
    """One of skrub's encoders."""

    def __init__(self, encoder: Any) -> None:
        self.kept = encoder

    def fit(self, column: pl.Series) -> "Skrubs":
        self.kept.fit(column)
        return self

    def transform(self, column: pl.Series) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.kept.transform(column).to_numpy()
        return found


ENCODERS: dict[str, Callable[[], Ours | Skrubs]] = {
    f"ours, {BUCKETS // 4:,} buckets": lambda: Ours(BUCKETS // 4),
    f"ours, {BUCKETS:,} buckets": Ours,
    "skrub's StringEncoder": lambda: Skrubs(StringEncoder(n_components=COMPONENTS, random_state=0)),
    "skrub's MinHashEncoder": lambda: Skrubs(MinHashEncoder(n_components=COMPONENTS)),
}
READERS: dict[str, Callable[[int], Any]] = {
    "linear": lambda seed: LogisticRegression(max_iter=2_000),
    "neural": lambda seed: OneHopClassifier("mlp", random_state=seed),
}


def measure(build: Callable[[], Ours | Skrubs], count: int, seed: int) -> dict[str, float]:
    """Accuracy of every reader on new texts, seconds of fitting, megabytes that are kept."""
    (train, topics), (test, answers) = texts(count, seed), texts(TEST, seed + 1_000)
    began = time.perf_counter()
    encoder = build().fit(train)
    found = {"seconds": time.perf_counter() - began}
    x, new = encoder.transform(train), encoder.transform(test)
    for name, reader in READERS.items():
        fitted = make_pipeline(StandardScaler(), reader(seed)).fit(x, topics)
        found[name] = float((fitted.predict(new) == answers).mean())
    return found | {"kept": len(skops.io.dumps(encoder.kept, compression=zipfile.ZIP_DEFLATED)) / 1e6}


def main(counts: list[int]) -> None:
    columns = ["encoder", "training texts", *(f"{name} reader" for name in READERS), "kept, MB", "s to fit"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for count in counts:
        for name, build in ENCODERS.items():
            runs = [measure(build, count, seed) for seed in SEEDS]
            mean = {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}
            scores = " | ".join(f"{mean[reader]:.1%}" for reader in READERS)
            print(f"| {name} | {count:,} | {scores} | {mean['kept']:.2f} | {mean['seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main([int(count) for count in sys.argv[1:]] or list(TRAINING))

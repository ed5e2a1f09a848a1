"""Free text as a few numbers: hashed pieces of words, weighed by how rare they are, and their main directions.

    x = tfidf(hash(text)) · V        V: the leading right singular vectors over the training texts

This is what skrub's StringEncoder does, but for the hash. Its vocabulary of every piece of every word grows with the
texts, to megabytes for a few thousand; 16,384 buckets come to about one whatever the text, and within a point of its
accuracy where words are many and rare; a quarter of them lost six: ``benchmarks/text_columns.py``. MinHashEncoder keeps
less, but only trees can read it: a linear and a neural reader were right a third as often or less.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars

BUCKETS = 16_384
COMPONENTS = 30


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Learned from training texts: ``rarity`` (buckets,) and ``directions`` (buckets, components)."""

    rarity: NDArray[np.float32]
    directions: NDArray[np.float32]

    @classmethod
    def fit(cls, texts: "polars.Series", buckets: int = BUCKETS) -> Self:
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.utils.extmath import randomized_svd

        counts = _counted(texts, buckets)
        rarity = TfidfTransformer().fit(counts).idf_.astype(np.float32)
        weighed = _weighed(counts, rarity)
        _, strength, right = randomized_svd(weighed, min(COMPONENTS, *weighed.shape), random_state=0)
        right = right[strength > 1e-6 * max(strength[0], 1e-6)]
        # All components together vary as much as one number column: a text is one column among the others.
        spread = float(np.sqrt((weighed @ right.T).var(axis=0).sum()))
        return cls(rarity, (right.T / (spread if spread > 1e-6 else 1.0)).astype(np.float32))

    def transform(self, texts: "polars.Series") -> NDArray[np.float32]:
        """(N, components); a missing text is 0 throughout."""
        return np.asarray(_weighed(_counted(texts, len(self.rarity)), self.rarity) @ self.directions)


def _counted(texts: "polars.Series", buckets: int) -> Any:
    """(N, buckets) sparse: how often each piece of three or four letters occurs."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=buckets, analyzer="char_wb", ngram_range=(3, 4), norm=None, dtype=np.float32)
    return hashing.transform(texts.fill_null(""))


def _weighed(counts: Any, rarity: NDArray[np.float32]) -> Any:
    from sklearn.preprocessing import normalize

    return normalize(counts.multiply(rarity).tocsr(), copy=False)

"""Numbers about sets, in scikit-learn's manner: how far apart the points of a cloud are.

python examples/set_regression.py
"""

import numpy as np
from sklearn.metrics import r2_score

from settwister import SetRegressor


def main(clouds: int = 1500) -> float:
    made = np.random.default_rng(0)
    sets = [made.normal(made.normal(size=2), made.uniform(0.2, 1.5), (made.integers(2, 12), 2)) for _ in range(clouds)]
    spread = np.array([cloud.var(axis=0).sum() for cloud in sets])  # a function of pairs of points
    half = clouds // 2
    model = SetRegressor(pool="mean", max_epochs=40, random_state=0).fit(sets[:half], spread[:half])
    found = r2_score(spread[half:], model.predict(sets[half:]))
    print(f"R² on {clouds - half} new clouds: {found:.3f}")
    return float(found)


if __name__ == "__main__":
    main()

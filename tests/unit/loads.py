# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loads of ranks, req/s, for both forms of Algorithm 1: engine/roles.py and mantle/lunule.lua."""

from hypothesis import strategies as st

HARMFUL = 0.075  # the imbalance factor above which a cluster is to be balanced


def uneven(most: int) -> st.SearchStrategy[list[float]]:
    """2 to ``most`` ranks, half of the clusters small: any loads, one hot rank beside even ones, one cold,
    and all nearly even."""

    def of(n: int) -> st.SearchStrategy[list[float]]:
        return st.one_of(
            # Whole requests, over an hour at most: of less than that no computer tells half.
            st.lists(st.one_of(st.just(0.0), st.floats(1e-4, 1e5)), min_size=n, max_size=n),
            st.floats(1, 4 * n).map(lambda hot: [100.0 * hot] + [100.0] * (n - 1)),
            st.floats(0, 1).map(lambda cold: [100.0 * cold] + [100.0] * (n - 1)),
            st.lists(st.floats(85, 115), min_size=n, max_size=n),
        )

    return st.one_of(st.integers(2, 8), st.integers(2, most)).flatmap(of)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's parameters, and what had to be assumed beside them: one place, which the report prints."""

from dataclasses import dataclass

from sim.provenance import assumed, given


@dataclass(frozen=True)
class Setting:
    """Times in s, rates in req/s, work in units of one look-up at a namenode."""

    namenodes: int = given(10, "V-B")
    clients: int = assumed(
        10,
        "Table III has 10 * 10 * 100 threads. 10,000 at once would wait 71 ms each at 140,000 req/s "
        "(Little's law), but a common request takes less than 10 ms: so ten clients of up to 100 threads",
    )
    window_s: int = given(900, "Table III: 15 minutes")
    runs: int = given(20, "V-D: 20 times; mean, highest and lowest are drawn")
    files: int = given(10_000, "Table III, Workload-2; a job's or all is not said: all")
    hot_share: float = assumed(0.8, "'hotspot' is not defined; YCSB's distribution of that name has 0.8")
    directory_files: int = assumed(
        20, "not given, as all of the hot spots: only 'a small amount of hotspots'"
    )
    permanent: int = assumed(2, "directories that are hot all the time")
    cyclical: int = assumed(2, "directories that are hot by turns")
    cycle_s: float = assumed(300.0, "three cycles a window")
    sudden_every_s: float = assumed(60.0, "a Poisson process")
    sudden_for_s: float = assumed(120.0, "mean of an exponential; each is twice as hot as one of the others")
    single_file: float = assumed(0.5, "part of the sudden ones that is one file; the others are a directory")
    capacity: float = assumed(
        14_000.0,
        "a tenth of 140,000 req/s, the most that the paper shows: so that figure is no result of ours",
    )
    think_s: float = assumed(0.005, "between two metadata requests NNBench reads a block of 1 byte")
    probe: float = assumed(0.5, "asking the layer, on a namenode taken at random: half of a look-up")
    copy: float = assumed(0.1, "writing one entry into one of the ten replicas")
    cache: int = assumed(
        800, "'8', without a unit, of 200 MB of entries whose size is not given: 8 % of the files"
    )
    ghost: int = assumed(200, "'2': the paper's 8 to 2")
    prefetched: int = assumed(200, "the hottest entries of the chosen namenode, as many as the ghost holds")
    warning: float = assumed(1.5, "a namenode counts as loaded above 1.5 times the mean")
    sampled: int = assumed(
        200, "of some 100,000 requests a second, what the caches see: all rates scaled alike"
    )

    @property
    def directories(self) -> int:
        return self.files // self.directory_files

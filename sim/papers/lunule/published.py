# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the paper's text says of its figures. The pictures themselves have no numbers that can be read off."""

from typing import Final

VANILLA, SPILL, LIGHT, LUNULE = "Vanilla", "GreedySpill", "Lunule-Light", "Lunule"

# Times that Lunule's throughput is another's (4.3, Figure 7); MD: Lunule and Lunule-Light over Vanilla.
FASTER: Final = {
    ("CNN", LUNULE, VANILLA): 2.81,
    ("CNN", LUNULE, SPILL): 2.14,
    ("CNN", LUNULE, LIGHT): 2.15,
    ("NLP", LUNULE, VANILLA): 1.76,
    ("NLP", LUNULE, SPILL): 1.65,
    ("NLP", LUNULE, LIGHT): 1.78,
    ("MD", LUNULE, VANILLA): 1.17,
    ("MD", LIGHT, VANILLA): 1.076,
}
IF_LOWER: Final = (0.179, 0.904)  # Lunule's mean IF below Vanilla's and GreedySpill's, least and most (4.3)
MD_VANILLA_IF: Final = 0.25  # roughly constant (4.3)
BUSIEST_CNN: Final = 0.903  # of all requests, the first rank's under Vanilla (2.2)
SHORTER: Final = (0.186, 0.646)  # completion time of CNN, NLP and Zipf below Vanilla's (4.3, Figure 8)
ADDED: Final = (41_000.0, 51_000.0, 56_100.0)  # req/s of 4, 5 and 6 ranks; the last is "10.0 %" more (4.5)
SIXTEEN: Final = 112_000.0  # req/s (4.6, Figure 13a)
OVER_HASH: Final = 1.222  # Web, at most (4.6, Figure 13b)
HASH_FORWARDS: Final = 1.98  # times Lunule's and Vanilla's (4.6)

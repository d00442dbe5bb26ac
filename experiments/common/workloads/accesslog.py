# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes an Apache access log: Zipf popularity, directories as a department's web server has them.

The same seed gives the same log. The paper's own (Florida State University, 302K files, 8.06 million
requests) is not published with it.
"""

import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

_PEOPLE = [
    "adams",
    "baker",
    "chen",
    "diaz",
    "evans",
    "fischer",
    "garcia",
    "hall",
    "ivanov",
    "jones",
    "kim",
    "lopez",
    "meyer",
    "nguyen",
    "olsen",
    "patel",
    "quinn",
    "rossi",
    "smith",
    "tanaka",
    "urban",
    "varga",
    "wang",
    "xu",
    "young",
    "zhang",
]
_COURSES = [
    "cop3014",
    "cop3330",
    "cop4530",
    "cop4610",
    "cda3100",
    "cen4020",
    "cis4360",
    "cnt4504",
    "cap5605",
    "cot5405",
]
_HOME = ("", "papers/", "teaching/", "photos/")
_COURSE = ("", "lectures/", "homework/", "projects/", "exams/")
_NAMES = [
    "index",
    "notes",
    "paper",
    "slides",
    "photo",
    "assignment",
    "solution",
    "report",
    "data",
    "syllabus",
]
_SUFFIXES = (".html", ".pdf", ".jpg", ".png", ".txt", ".ps", ".gz")
_BEGIN = datetime(2013, 8, 23, 8, 0, tzinfo=UTC)
_MISSES = 0.02


def directories() -> list[str]:
    """All directories that have files."""
    found = ["/", "/images/", "/css/", "/news/", "/research/", "/people/"]
    found += [f"/~{who}/{sub}" for who in _PEOPLE for sub in _HOME]
    found += [f"/courses/{course}/{sub}" for course in _COURSES for sub in _COURSE]
    found += [f"/news/{year}/{month:02d}/" for year in (2013, 2014) for month in range(1, 13)]
    found += [
        f"/research/{group}/" for group in ("ai", "networks", "security", "systems", "theory", "vision")
    ]
    return found


def tree(rng: random.Random, files: int) -> list[list[str]]:
    """The files of each directory; sizes differ by two orders of magnitude."""
    places = directories()
    shares = [rng.paretovariate(1.2) for _ in places]
    wanted = [max(1, round(files * share / sum(shares))) for share in shares]
    return [
        [place + "index.html"]
        + [f"{place}{rng.choice(_NAMES)}{k:04d}{rng.choice(_SUFFIXES)}" for k in range(1, count)]
        for place, count in zip(places, wanted, strict=True)
    ]


def lines(files: int, requests: int, zipf: float, seed: int) -> Iterator[str]:
    """The log, a line a request; popularity falls by Zipf's law over directories, in each over its files."""
    rng = random.Random(seed)
    places = tree(rng, files)
    rng.shuffle(places)
    paths, weights = [], []
    for place, names in enumerate(places, 1):
        within = [rank**-zipf for rank in range(1, len(names) + 1)]
        paths += names
        weights += [weight / sum(within) * place**-zipf for weight in within]
    cumulative = list(itertools.accumulate(weights))
    now = _BEGIN
    for path in rng.choices(paths, cum_weights=cumulative, k=requests):
        now += timedelta(seconds=rng.expovariate(0.17))
        who = f"128.186.{rng.randrange(120, 124)}.{rng.randrange(1, 255)}"
        miss = rng.random() < _MISSES
        asked = f"{path}.old" if miss else path.removesuffix("index.html")
        status = "404 208" if miss else f"200 {rng.randrange(200, 60_000)}"
        yield f'{who} - - [{now:%d/%b/%Y:%H:%M:%S %z}] "GET {asked} HTTP/1.1" {status}\n'

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the clients do. One module a workload; those of the matrix first, in the paper's order."""

from collections.abc import Mapping

from lab.bench.workloads.base import Workload
from lab.bench.workloads.cnn import CNN
from lab.bench.workloads.create_reread import CREATE_REREAD
from lab.bench.workloads.dbench import DBENCH
from lab.bench.workloads.jumps import JUMPS
from lab.bench.workloads.md import MD
from lab.bench.workloads.mix import MIX
from lab.bench.workloads.nlp import NLP
from lab.bench.workloads.scan_apart import SCAN_APART
from lab.bench.workloads.web import WEB
from lab.bench.workloads.zipf import ZIPF, ZIPF12

MATRIX = ("cnn", "nlp", "web", "zipf", "md", "mix", "dbench")
WORKLOADS: Mapping[str, Workload] = {
    w.name: w for w in (CNN, NLP, WEB, ZIPF, MD, MIX, DBENCH, SCAN_APART, CREATE_REREAD, JUMPS, ZIPF12)
}

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the clients do. Those of the matrix first, in the paper's order."""

from collections.abc import Mapping

from experiments.common.workloads.base import Workload
from experiments.common.workloads.churn import CHURN
from experiments.common.workloads.create_reread import CREATE_REREAD
from experiments.common.workloads.dbench import DBENCH
from experiments.common.workloads.jumps import JUMPS
from experiments.common.workloads.line import LINE
from experiments.common.workloads.mix import MIX
from experiments.common.workloads.moving import CYCLE, FLASH, LEAVING
from experiments.common.workloads.private import MD, ZIPF, ZIPF12
from experiments.common.workloads.programs import PROGRAMS
from experiments.common.workloads.scan import CNN, NLP, SCAN_APART
from experiments.common.workloads.web import WEB

MATRIX = ("cnn", "nlp", "web", "zipf", "md", "mix", "dbench")
_OTHERS = (SCAN_APART, CREATE_REREAD, JUMPS, ZIPF12, CHURN, LINE, LEAVING, FLASH, CYCLE, PROGRAMS)
WORKLOADS: Mapping[str, Workload] = {w.name: w for w in (CNN, NLP, WEB, ZIPF, MD, MIX, DBENCH, *_OTHERS)}

# SPDX-License-Identifier: LGPL-2.1-or-later
"""NLP: THUCTC's corpus, scaled down: 14 directories, very many files, all are opened."""

from experiments.common.workloads.scan import Scan

NLP = Scan("nlp", dirs=14, files=850, touch="open")

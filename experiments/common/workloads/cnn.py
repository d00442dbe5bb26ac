# SPDX-License-Identifier: LGPL-2.1-or-later
"""CNN: MXNet's im2rec on ImageNet, scaled down: many directories, all files are opened."""

from experiments.common.workloads.scan import Scan

CNN = Scan("cnn", dirs=100, files=120, touch="open")

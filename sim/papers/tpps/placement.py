# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which namenode a file's metadata is on: by subtree, as HDFS's federation does, and by hash."""

import zlib

import numpy as np

from sim.model.arrays import Ints
from sim.papers.tpps.setting import Setting

Nodes = Ints


def by_subtree(setting: Setting) -> Nodes:
    """Neighbouring directories together, as many on each namenode; (files,), the namenode of each."""
    files = np.arange(setting.files)
    return files // setting.directory_files * setting.namenodes // setting.directories


def by_hash(setting: Setting) -> Nodes:
    """CRC-32 of the full path; (files,), the namenode of each."""
    paths = [f"/{file // setting.directory_files}/{file}" for file in range(setting.files)]
    return np.array([zlib.crc32(path.encode()) % setting.namenodes for path in paths], dtype=np.int64)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real engine process."""

import logging
from collections.abc import Iterator

import pytest
from fake_cluster import SETTINGS

from mds_partitioner.engine_client import EngineClient


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineClient]:
    client = EngineClient(lambda: SETTINGS, logging.getLogger("engine"))
    yield client
    client.shutdown()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a client's prepared files are, below what it mounts."""

from lab.clients.spec import ClientSpec


def directory(client: ClientSpec, number: int) -> str:
    """Path of a prepared directory."""
    return f"{client.home}/d{client.first_dir + number:04d}"


def path_of(client: ClientSpec, number: int) -> str:
    """Path of a prepared file: neighbours by number are in different directories."""
    return f"{directory(client, number % client.dirs)}/f{number // client.dirs:05d}"


def path_in_scan(client: ClientSpec, turn: int) -> str:
    """Path of the file whose turn it is when one directory is read after the other."""
    return f"{directory(client, turn // client.files)}/f{turn % client.files:05d}"


def parents(path: str) -> list[str]:
    """All directories above a path but the root, the highest first."""
    names = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(names[: k + 1]) for k in range(len(names))]

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the machine's own apt configuration says about where Debian's packages are."""

import shutil
import subprocess


def mirrors() -> list[str]:
    """The machine's own Debian mirror, or nothing: then mmdebstrap uses its default."""
    lines = _run("apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN) $(CODENAME)").splitlines()
    return pick_mirror(lines)


def pick_mirror(lines: list[str]) -> list[str]:
    """The first main archive of Debian among lines of site, origin and codename; at most one."""
    for line in lines:
        site, _, rest = line.partition(" ")
        origin, _, codename = rest.rpartition(" ")
        # The security archive has other packages, and forky's is empty.
        main = origin == "Debian" and not codename.endswith("-security")
        if main and site.startswith(("http://", "https://")):
            return [site.rstrip("/")]
    return []


def proxies() -> dict[str, str]:
    """Proxies that apt itself would use, by scheme."""
    found = {}
    for scheme in ("http", "https"):
        line = _run("apt-config", "--format", "%v%n", "dump", f"Acquire::{scheme}::Proxy").strip()
        if line and line != "DIRECT":
            found[scheme] = line
    return found


def proxy_options() -> list[str]:
    """The same as options for the apt that mmdebstrap runs, which does not read the machine's."""
    return [f'Acquire::{scheme}::Proxy "{url}"' for scheme, url in proxies().items()]


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout

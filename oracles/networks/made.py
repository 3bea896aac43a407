"""What the rows of made networks share: exporters of others write their files, with weights of no meaning or trained on
numbers drawn here. The exporters come from tools.in and are imported when a network is made, not before."""

import os
import re
import zlib

from network import add


def pinned(package):
    """The version of a package that tools.in names."""
    with open(os.path.join(os.path.dirname(__file__), "tools.in")) as f:
        return re.search(rf"^{package}==(\S+)", f.read(), re.M).group(1)


def made(name, family, what, package, feeds, model, **tolerance):
    add(name, "made", what, f"{package} {pinned(package)}", "Apache-2.0", model, feeds, family=family, **tolerance)


def seed(name):
    """A number that depends on the name alone."""
    return zlib.crc32(name.encode()) % 2**31

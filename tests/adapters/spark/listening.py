"""The addresses that processes listen on, from the kernel (Linux)."""

import socket
import struct
from contextlib import suppress
from pathlib import Path

LISTEN = "0A"


def _address(text):
    words = bytes.fromhex(text)
    packed = b"".join(struct.pack("<I", word) for (word,) in struct.iter_unpack(">I", words))
    # Java uses one socket for IPv4 and IPv6.
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed).removeprefix("::ffff:")


def table():
    """(address, port, inode) of every listening socket."""
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(name).read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].partition(":")
            if fields[3] == LISTEN:
                yield _address(address), int(port, 16), fields[9]


def listening(port):
    """The addresses that listen on a port."""
    return {address for address, at, _ in table() if at == port}


def listened_by(pids):
    """{(address, port)} on which some processes listen."""
    inodes = set()
    for pid in pids:
        # Processes and their files may disappear meanwhile.
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    target = str(descriptor.readlink())
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
    return {(address, port) for address, port, inode in table() if inode in inodes}


def children(pid):
    """A process and all its descendants."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = status.read_text(errors="replace")
            parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found

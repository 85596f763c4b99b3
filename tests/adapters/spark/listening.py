"""The sockets of processes and the addresses they listen on, from the kernel (Linux)."""

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


def sockets():
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(name).read_text().splitlines()[1:]:
            fields = line.split()
            here, there = (field.partition(":") for field in fields[1:3])
            yield fields[3], (_address(here[0]), int(here[2], 16)), (_address(there[0]), int(there[2], 16)), fields[9]


def listening(port):
    return {here[0] for state, here, *_ in sockets() if state == LISTEN and here[1] == port}


def listened_by(pids):
    inodes = set()
    for pid in pids:
        # Processes and their files may disappear meanwhile.
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    target = str(descriptor.readlink())
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
    return {here for state, here, _, inode in sockets() if state == LISTEN and inode in inodes}


def children(pid):
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = status.read_text(errors="replace")
            parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found

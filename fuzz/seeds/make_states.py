"""Seeds of the target state_record: one record of each kind, after crates/sequence/src/durable/mod.rs."""

import struct
from pathlib import Path

FOLDER = Path(__file__).parent / "state_record"


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def tensor(number, dims, elements):
    return struct.pack(f"<BB{len(dims)}Q", number, len(dims), *dims) + elements


def head(kind, sequence):
    return bytes([1, kind]) + text("m") + struct.pack("<QQ", 1, 2) + sequence + struct.pack("<Q", 3)


FLOATS = tensor(1, [1, 2], struct.pack("<ff", 1, 2))
STRINGS = tensor(8, [2], text("ab") + text(""))
OUTPUTS = struct.pack("<I", 2) + text("y") + FLOATS + text("s") + STRINGS
NUMBER = b"\0" + struct.pack("<Q", 7)
ALIVE = (
    struct.pack("<QQ", 5, 6) + text("request") + b"\3" + struct.pack("<I", 1)
    + struct.pack("<IQ", 1, 5) + OUTPUTS
    + struct.pack("<I", 2) + b"\1" + FLOATS + b"\0"
)
SEEDS = {
    "nothing": bytes([1, 0]),
    "alive": head(1, NUMBER) + ALIVE,
    "ended": head(2, b"\1" + text("call")) + b"\0",
    "ended-kept": head(2, NUMBER) + b"\1" + struct.pack("<Q", 9) + text("r") + text("") + OUTPUTS,
    "gone": head(3, NUMBER),
}

FOLDER.mkdir(exist_ok=True)
for name, seed in SEEDS.items():
    (FOLDER / name).write_bytes(seed)

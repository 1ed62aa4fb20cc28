"""Makes the seeds of log_segment: python make_log.py (needs nothing but Python)."""

import pathlib
import struct

folder = pathlib.Path(__file__).parent / "log_segment"
SALT = 0x5EED


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def header(version=1):
    body = b"STEADLOG" + struct.pack("<IIQQ28x", version, SALT, 1, 1)
    return body + struct.pack("<I", crc32c(body))


def record(offset, payload, synced=64):
    head = struct.pack("<III", len(payload), synced, crc32c(payload))
    return head + struct.pack("<I", crc32c(struct.pack("<II", SALT, offset) + head)) + payload


def segment(*records):
    data = header()
    for payload, synced in records:
        data += record(len(data), payload, synced)
    return data


def save(name, data, mend=0):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(bytes([mend]) + data)


three = segment((b"first", 64), (b"", 64), (b"third", 64 + 21))
save("empty", header())
save("three", three)
save("torn", three[:-3])
save("zeros", three + bytes(40))
save("corrupt", three[:70] + b"\xff" + three[71:])
save("newer", header(version=2))
save("mended", three, mend=1)
save("mended_then_torn", three + b"\xff" * 4 + bytes(30), mend=1)

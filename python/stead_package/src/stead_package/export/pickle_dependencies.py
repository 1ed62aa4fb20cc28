"""Which modules a pickle names, read from its opcodes."""

from __future__ import annotations

import copyreg
import pickletools
from typing import Dict, List, Optional, Tuple

_STRINGS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")
_EXTENSIONS = ("EXT1", "EXT2", "EXT4")


def pickle_dependencies(data: bytes) -> List[Tuple[str, str]]:
    """Pairs of module and name, each once, in the order of the pickle.

    Nothing is unpickled. Protocols up to 3 name globals in one opcode; later ones take the two strings on the stack.
    """
    found: Dict[Tuple[str, str], None] = {}
    memo: Dict[int, Optional[str]] = {}
    # The strings that are certainly the topmost values of the stack; empty after any other value.
    strings: List[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in _STRINGS:
            strings.append(argument)
        elif name == "MEMOIZE":
            memo[len(memo)] = strings[-1] if strings else None
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(argument)] = strings[-1] if strings else None
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            value = memo.get(int(argument))
            strings = strings + [value] if value is not None else []
        elif name == "GLOBAL":
            module, _, attribute = argument.partition(" ")
            found[(module, attribute)] = None
            strings = []
        elif name == "STACK_GLOBAL":
            if len(strings) >= 2:
                found[(strings[-2], strings[-1])] = None
            strings = []
        elif name in _EXTENSIONS:
            registered = copyreg._inverted_registry.get(argument)  # type: ignore[attr-defined]
            if registered is not None:
                found[registered] = None
            strings = []
        elif name not in ("FRAME", "PROTO"):
            strings = []
    return list(found)

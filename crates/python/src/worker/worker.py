# The loop of a worker process; what it calls is in bootstrap.py, which stands before it.
import fcntl
import mmap
import socket
import struct

_HEADER = struct.Struct("<4sIQQQ")
_INLINE = 64 << 10
_LOAD, _CALL, _ANSWER, _REFUSED = 1, 2, 3, 4
_READY, _VALUE, _RAISED, _RETURNED, _ASKED = 10, 11, 12, 13, 14
_SEALS = 0x0002 | 0x0004 | 0x0008  # shrink, grow, write
_ADD_SEALS = 1033
_MAX_DEPTH = 64
_MAX_RANK = 8
_RETURNABLE = "return None, bool, int, float, str, bytes, list, tuple, dict with keys of type str, or an array"
_SIGNED, _UNSIGNED = "bhilqn", "BHILQN"


class _Unreturnable(Exception):
    """The code returned what cannot leave the interpreter."""


class _Reader:
    """Values of a body; bootstrap.py makes arrays of its tensors."""

    def __init__(self, body, segment):
        self.body, self.segment, self.at = body, segment, 0

    def take(self, n):
        at, self.at = self.at, self.at + n
        return self.body[at:self.at]

    def number(self, form):
        form = struct.Struct(form)
        return form.unpack(self.take(form.size))[0]

    def bytes(self):
        return self.take(self.number("<I"))

    def text(self):
        return self.bytes().decode()

    def list(self):
        return [self.value() for _ in range(self.number("<I"))]

    def dict(self):
        # The key is read before the value.
        return {self.text(): self.value() for _ in range(self.number("<I"))}

    def value(self):
        return _READERS[self.take(1)](self)

    def shape(self):
        return tuple(self.number("<Q") for _ in range(self.number("<B")))

    def strings(self):
        shape = self.shape()
        count = 1
        for dim in shape:
            count *= dim
        return strings([self.bytes() for _ in range(count)], shape)

    def tensor(self):
        dtype = self.take(self.number("<B")).decode()
        shape = self.shape()
        offset = self.number("<Q")
        return tensor(self.segment[offset:offset + _size(dtype, shape)], dtype, shape)


def _size(dtype, shape):
    bits = 8 if dtype == "bool" else int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))
    total = bits // 8
    for dim in shape:
        total *= dim
    return total


_READERS = {
    b"N": lambda r: None,
    b"T": lambda r: True,
    b"F": lambda r: False,
    b"i": lambda r: r.number("<q"),
    b"f": lambda r: r.number("<d"),
    b"s": _Reader.text,
    b"b": _Reader.bytes,
    b"l": _Reader.list,
    b"d": _Reader.dict,
    b"t": _Reader.tensor,
    b"S": _Reader.strings,
}


class _Writer:
    """The body and the segment of an answer."""

    def __init__(self, name="the result"):
        self.name, self.body, self.parts, self.len = name, bytearray(), [], 0

    def text(self, text):
        data = text.encode() if isinstance(text, str) else bytes(text)
        self.body += struct.pack("<I", len(data)) + data

    def value(self, value, place="the result", depth=0):
        if depth > _MAX_DEPTH:
            raise _Unreturnable(f"{self.name} is nested deeper than {_MAX_DEPTH}")
        if value is None:
            self.body += b"N"
        elif isinstance(value, bool):
            self.body += b"T" if value else b"F"
        elif isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                raise _Unreturnable(f"{place} is an int that does not fit 64 bits")
            self.body += struct.pack("<cq", b"i", value)
        elif isinstance(value, float):
            self.body += struct.pack("<cd", b"f", value)
        elif isinstance(value, str):
            self.body += b"s"
            self.text(value)
        elif isinstance(value, (bytes, bytearray)):
            self.body += b"b"
            self.text(value)
        elif isinstance(value, (list, tuple)):
            self.body += struct.pack("<cI", b"l", len(value))
            for i, item in enumerate(value):
                self.value(item, f"{place}[{i}]", depth + 1)
        elif isinstance(value, dict):
            self.body += struct.pack("<cI", b"d", len(value))
            for key, item in value.items():
                if not isinstance(key, str):
                    raise _Unreturnable(f"{place} has a key of type {type(key).__name__}; {_RETURNABLE}")
                self.text(key)
                self.value(item, f'{place}["{key}"]', depth + 1)
        else:
            self.array(value, place)

    def array(self, value, place):
        parts = exotic(value)
        if parts is not None and len(parts) == 2:
            return self.strings(*parts, place)
        try:
            view = memoryview(value if parts is None else parts[0])
        except TypeError:
            raise _Unreturnable(f"{place} is of type {type(value).__name__}; {_RETURNABLE}") from None
        name = (_dtype(view, place) if parts is None else "bfloat16").encode()
        _check_rank(view.ndim, place)
        offset = -(-self.len // 64) * 64
        self.body += struct.pack(f"<cB{len(name)}sB{view.ndim + 1}Q", b"t", len(name), name, view.ndim, *view.shape, offset)
        self.parts += [bytes(offset - self.len), _flat(view)]
        self.len = offset + view.nbytes


    def strings(self, values, shape, place):
        _check_rank(len(shape), place)
        self.body += struct.pack(f"<cB{len(shape)}Q", b"S", len(shape), *shape)
        for value in values:
            self.text(value)


def _check_rank(rank, place):
    if rank > _MAX_RANK:
        raise _Unreturnable(f"{place}: rank {rank} is above the limit of {_MAX_RANK}")


def _flat(view):
    """The bytes of a view in row-major order, in place where they lie so."""
    if view.c_contiguous and view.nbytes:
        try:
            return view.cast("B")
        except (TypeError, ValueError):
            pass  # a format that only tobytes knows
    return view.tobytes()


def _dtype(view, place):
    form, size = view.format, view.itemsize
    order, code = (form[0], form[1:]) if form[:1] in "@=<>!" and form else ("@", form)
    if order in ">!" and size > 1:
        raise _Unreturnable(
            f"{place}: an array in big-endian order cannot leave the interpreter; convert it with "
            ".astype(array.dtype.newbyteorder('='))")
    if code == "?":
        return "bool"
    if len(code) == 1 and code in _SIGNED:
        return f"int{size * 8}"
    if len(code) == 1 and code in _UNSIGNED:
        return f"uint{size * 8}"
    if (code, size) in (("e", 2), ("f", 4), ("d", 8)):
        return f"float{size * 8}"
    if (code, size) in (("Zf", 8), ("Zd", 16)):
        return f"complex{size * 8}"
    raise _Unreturnable(f'{place}: an array of elements "{form}" cannot leave the interpreter; return numbers, bool or texts')


def _receive(link, n):
    data = bytearray(n)
    view, at = memoryview(data), 0
    while at < n:
        read = link.recv_into(view[at:])
        if not read:
            raise EOFError
        at += read
    return data


def _next(link):
    """The next message: its kind, its body and its segment."""
    header, files = b"", []
    while len(header) < _HEADER.size:
        data, more, _, _ = socket.recv_fds(link, _HEADER.size - len(header), 1)
        if not data:
            raise EOFError
        header += data
        files += more
    _, kind, body, size, in_file = _HEADER.unpack(header)
    body = bytes(_receive(link, body))
    if not in_file:
        return kind, body, memoryview(bytes(_receive(link, size)))
    try:
        return kind, body, memoryview(mmap.mmap(files[0], size, access=mmap.ACCESS_READ))
    finally:
        os.close(files[0])


def _answer(link, kind, body, parts=(), size=0):
    in_file = size > _INLINE
    header = _HEADER.pack(b"stpy", kind, len(body), size, int(in_file))
    if not in_file:
        link.sendall(b"".join([header, body, *parts]))
        return
    file = os.memfd_create("stead-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(file, "wb", buffering=0, closefd=False) as out:
            for part in parts:
                at = 0
                while at < len(part):
                    at += out.write(part[at:])
        fcntl.fcntl(file, _ADD_SEALS, _SEALS)
        sent = socket.send_fds(link, [header], [file])
        link.sendall(header[sent:] + body)
    finally:
        os.close(file)


# Held while code asks stead: one message and its answer. Only while a call runs is there anybody who answers.
_asking = threading.Lock()
_running = False


def _question(name, arguments):
    """What stead says to what code asks for, as bootstrap.py knows it."""
    writer = _Writer(f"the arguments of {name}")
    writer.text(name)
    try:
        writer.value(arguments, writer.name)
    except _Unreturnable as error:
        return "type", str(error)
    with _asking:
        if not _running:
            return "failed", "unavailable", f"{name}: no call of stead is running in this interpreter"
        _answer(_link, _ASKED, writer.body, writer.parts, writer.len)
        try:
            kind, body, segment = _next(_link)
        except EOFError:
            _end(0)
    reader = _Reader(body, segment)
    if kind == _ANSWER:
        return "value", reader.value()
    return "failed", reader.text(), reader.text()


def _execute(kind, body, segment):
    """The answer to a message."""
    reader = _Reader(body, segment)
    writer = _Writer()
    try:
        if kind == _LOAD:
            load(reader.text(), reader.text())
            writer.value(None)
        else:
            function = find(reader.text(), reader.text(), reader.text())
            arguments, keywords = reader.list(), reader.dict()
            result = function(*arguments, **keywords)
            del arguments, keywords
            if is_coroutine(result):
                result = run(result)
            writer.value(result)
        return _VALUE, writer.body, writer.parts, writer.len
    except _Unreturnable as error:
        kind, texts = _RETURNED, [str(error)]
    except BaseException as error:
        kind, texts = _RAISED, describe(error)
    writer = _Writer()
    for text in texts:
        writer.text(text)
    return kind, writer.body


def _serve():
    global _link, _running
    link = _link = socket.socket(fileno=3)
    capture(2)
    with open(5, "rb") as file:
        library(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    ask_with(_question)
    # Of children of the code, none is a worker.
    os.set_inheritable(3, False)
    _answer(link, _READY, b"")
    while True:
        try:
            message = _next(link)
        except EOFError:
            _end(0)
        # Nobody asks yet, or waits for an answer.
        _running = True
        answer = _execute(*message)
        del message
        with _asking:
            _running = False
            _answer(link, *answer)


_serve()

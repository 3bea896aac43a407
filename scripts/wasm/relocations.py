"""relocations.py MODULE writes the relocations of a position-independent module as data, in place.

wasm-ld writes __wasm_apply_data_relocs as one long sequence of stores: *(memory + place) = base + addend,
where base is the place of the module's memory or of its table. Here addends become the initial contents of
their places, and the function a loop for each base that adds it to the words of a list. The list follows
the module's data: a byte for each word, the distance from the word before in words. SKIP is a distance
without a word.
"""

import pathlib
import sys

TYPE, IMPORT, FUNCTION, EXPORT, CODE, DATA = 1, 2, 3, 7, 10, 11
CONST, GET_GLOBAL, ADD, STORE, END = 0x41, 0x23, 0x6A, 0x36, 0x0B
MEMORY_BASE, TABLE_BASE = 1, 2  # indices of globals, in the order in which wasm-ld imports them
SKIP = 255


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def bytes(self, n):
        self.at += n
        assert self.at <= len(self.data)
        return self.data[self.at - n : self.at]

    def unsigned(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value

    def signed(self):
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def expect(self, *opcodes):
        for opcode in opcodes:
            got = self.byte()
            assert got == opcode, f"{got:#x} in place of {opcode:#x} at {self.at - 1:#x}"

    def more(self):
        return self.at < len(self.data)


def leb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def const(value):
    """i32.const of a value that is not negative."""
    out = leb(value)
    return bytes([CONST]) + (out if out[-1] < 0x40 else out[:-1] + bytes([out[-1] | 0x80, 0]))


def relocations(body):
    """The places of words, by base, and all addends."""
    r = Reader(body)
    places, addends = {MEMORY_BASE: [], TABLE_BASE: []}, {}
    assert r.unsigned() == 0, "the function has locals"
    while r.byte() == CONST:
        place = r.signed()
        r.expect(GET_GLOBAL, MEMORY_BASE, ADD, GET_GLOBAL)
        base = r.byte()
        r.expect(CONST)
        addend = r.signed()
        r.expect(ADD, STORE)
        r.unsigned()  # the alignment
        place += r.unsigned()
        places[base].append(place)
        addends[place] = addend
    assert body[r.at - 1] == END and not r.more(), f"{body[r.at - 1]:#x} is no relocation"
    return places, addends


def distances(places):
    out, last = bytearray(), 0
    for place in sorted(places):
        assert place % 4 == 0
        words = (place - last) // 4
        while words >= SKIP:
            out.append(SKIP)
            words -= SKIP
        out.append(words)
        last = place
    return bytes(out)


def loops(lists):
    """The body of the function for lists of (base, place, number of distances)."""
    at, item, end, word = range(4)
    get, put, tee = (lambda i: bytes([0x20, i])), (lambda i: bytes([0x21, i])), (lambda i: bytes([0x22, i]))
    memory = bytes([GET_GLOBAL, MEMORY_BASE])
    body = bytes([1, 4, 0x7F])  # four locals, i32
    for base, place, count in lists:
        body += memory + put(at)
        body += memory + const(place) + bytes([ADD]) + tee(item) + const(count) + bytes([ADD]) + put(end)
        body += bytes([0x03, 0x40])  # loop
        body += get(at) + get(item) + bytes([0x2D, 0, 0]) + tee(word)  # i32.load8_u
        body += const(2) + bytes([0x74, ADD]) + put(at)  # i32.shl
        body += get(word) + const(SKIP) + bytes([0x47, 0x04, 0x40])  # i32.ne if
        body += get(at) + get(at) + bytes([0x28, 2, 0, GET_GLOBAL, base, ADD, STORE, 2, 0, END])  # i32.load
        body += get(item) + const(1) + bytes([ADD]) + tee(item) + get(end) + bytes([0x49, 0x0D, 0, END])  # lt_u br_if
    return body + bytes([END])


def rewrite(module):
    r = Reader(module, 8)
    sections = []
    while r.more():
        kind = r.byte()
        sections.append([kind, r.bytes(r.unsigned())])
    contents = {kind: body for kind, body in sections if kind != 0}

    r = Reader(contents[EXPORT])
    for _ in range(r.unsigned()):
        name, kind, index = r.bytes(r.unsigned()), r.byte(), r.unsigned()
        if name == b"__wasm_apply_data_relocs":
            break
    assert kind == 0
    imported = sum(kind == 0 for kind in imports(contents[IMPORT]))

    r = Reader(contents[CODE])
    bodies = [r.bytes(r.unsigned()) for _ in range(r.unsigned())]
    places, addends = relocations(bodies[index - imported])

    r = Reader(contents[DATA])
    r.expect(1, 0, GET_GLOBAL, MEMORY_BASE, END)
    data = bytearray(r.bytes(r.unsigned()))
    for place, addend in addends.items():
        data[place : place + 4] = addend.to_bytes(4, "little")
    lists = []
    for base in MEMORY_BASE, TABLE_BASE:
        found = distances(places[base])
        lists.append((base, len(data), len(found)))
        data += found
    bodies[index - imported] = loops(lists)

    out = module[:8]
    for kind, body in sections:
        if kind == 0 and body.startswith(b"\x08dylink.0"):
            body = placed(body, len(data))
        elif kind == CODE:
            body = leb(len(bodies)) + b"".join(leb(len(b)) + b for b in bodies)
        elif kind == DATA:
            body = bytes([1, 0, GET_GLOBAL, MEMORY_BASE, END]) + leb(len(data)) + bytes(data)
        out += bytes([kind]) + leb(len(body)) + body
    return out


def imports(body):
    """The kinds of imports."""
    r = Reader(body)
    for _ in range(r.unsigned()):
        r.bytes(r.unsigned())
        r.bytes(r.unsigned())
        kind = r.byte()
        yield kind
        if kind == 0:
            r.unsigned()
        elif kind == 3:
            r.bytes(2)
        else:
            if kind == 1:
                r.byte()
            for _ in range(1 + (r.byte() & 1)):
                r.unsigned()


def placed(body, size):
    """The section dylink.0 of a module with that many bytes of data."""
    r = Reader(body, 9)
    r.expect(1)  # the part with sizes
    part = Reader(r.bytes(r.unsigned()))
    old = part.unsigned()
    assert old <= size, "there is data without contents"
    rest = leb(size) + part.bytes(len(part.data) - part.at)
    return body[:9] + bytes([1]) + leb(len(rest)) + rest + r.bytes(len(body) - r.at)


def main():
    path = pathlib.Path(sys.argv[1])
    path.write_bytes(rewrite(path.read_bytes()))


if __name__ == "__main__":
    main()

"""Reads model.bin of CTranslate2 (little endian, version 6).

u32 version, string specification, u32 revision, u32 count, then for each tensor: string name, u8 rank, u32 sizes,
u8 element type, u32 bytes, data; then u32 count and pairs of strings (alias, name). A string is a
u16 length that counts a closing NUL, and the text.
"""

import struct

import numpy as np

ELEMENTS = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


class _Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def number(self, code):
        (value,) = struct.unpack_from(f"<{code}", self.data, self.position)
        self.position += struct.calcsize(f"<{code}")
        return value

    def string(self):
        length = self.number("H")
        text = self.data[self.position : self.position + length - 1].decode()
        self.position += length
        return text

    def array(self):
        sizes = [self.number("I") for _ in range(self.number("B"))]
        element = np.dtype(ELEMENTS[self.number("B")])
        length = self.number("I")
        array = np.frombuffer(self.data, element, length // element.itemsize, self.position).reshape(sizes)
        self.position += length
        return array


def parse(data):
    """{name: array} of all tensors and aliases."""
    reader = _Reader(data)
    version = reader.number("I")
    if version != 6:
        raise ValueError(f"CTranslate2 model of version {version}, expected 6")
    reader.string(), reader.number("I")
    tensors = {reader.string(): reader.array() for _ in range(reader.number("I"))}
    aliases = [(reader.string(), reader.string()) for _ in range(reader.number("I"))]
    return {**tensors, **{alias: tensors[name] for alias, name in aliases}}

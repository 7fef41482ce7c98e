#!/usr/bin/env python3
"""Writes a GGUF file of two small tensors that is odd in one way: odd_gguf.py KIND FILE.

gap            64 bytes between the tensors that nothing accounts for
overlap        the second tensor begins inside the first
version1       32-bit counts and lengths, as in 2023
big-endian     every number the other way round
unknown-type   the second tensor has a type that no ggml knows
lora, mmproj   files that are no model
"""
import struct
import sys

U32, STRING = 4, 8


class Writer:
    def __init__(self, kind):
        self.order = ">" if kind == "big-endian" else "<"
        self.count = "I" if kind == "version1" else "Q"

    def number(self, code, value):
        return struct.pack(self.order + code, value)

    def text(self, value):
        data = value.encode()
        return self.number(self.count, len(data)) + data

    def pair(self, key, kind, value):
        return self.text(key) + self.number("I", kind) + (
            self.text(value) if kind == STRING else self.number("I", value))


def main():
    kind, path = sys.argv[1:]
    out = Writer(kind)
    pairs = [("general.architecture", STRING, "clip" if kind == "mmproj" else "llama"), ("llama.block_count", U32, 1)]
    names = ["blk.0.attn_q.weight", "blk.0.ffn_up.weight"]
    if kind == "lora":
        pairs += [("general.type", STRING, "adapter"), ("adapter.type", STRING, "lora")]
        names = ["blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"]
    if kind == "mmproj":
        pairs += [("general.type", STRING, "mmproj")]
        names = ["v.blk.0.attn_q.weight", "mm.0.weight"]
    second = {"gap": 192, "overlap": 64}.get(kind, 128)
    body = b"GGUF" + out.number("I", 1 if kind == "version1" else 3)
    body += out.number(out.count, len(names)) + out.number(out.count, len(pairs))
    for key, value_type, value in pairs:
        body += out.pair(key, value_type, value)
    for name, offset, type_id in zip(names, (0, second), (0, 99 if kind == "unknown-type" else 0)):
        body += out.text(name) + out.number("I", 1) + out.number(out.count, 32) + out.number("I", type_id)
        body += out.number("Q", offset)
    body += bytes(-len(body) % 32) + bytes(second + 128)
    with open(path, "wb") as file:
        file.write(body)


main()

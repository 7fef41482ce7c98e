#!/usr/bin/env python3
"""Writes corpus/gguf_header: one tiny file for each feature of the format, good and bad, for the fuzz
target to start from. Deterministic; run it again after a change and commit what it wrote."""
import pathlib
import struct

OUT = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf_header"
# Bytes of the tensor types: id, elements of a block, bytes of a block.
SIZES = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
         10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
         16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
         23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
         31: (32, 18), 32: (32, 18), 33: (32, 18), 34: (256, 54), 35: (256, 66), 36: (32, 18), 37: (32, 18),
         38: (32, 18), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18)}


class Wire:
    """How a file writes its numbers."""

    def __init__(self, order="<", version=3):
        self.order = order
        self.version = version
        self.length_form = "I" if version == 1 else "Q"

    def number_bytes(self, form, value):
        return struct.pack(self.order + form, value)

    def length(self, value):
        return self.number_bytes(self.length_form, value)

    def text(self, value):
        data = value.encode() if isinstance(value, str) else value
        return self.length(len(data)) + data

    def pair(self, key, kind, value):
        return self.text(key) + self.number_bytes("I", kind) + value

    def number(self, key, value):
        return self.pair(key, 4, self.number_bytes("I", value))

    def name(self, key, value):
        return self.pair(key, 8, self.text(value))

    def array_value(self, kind, elements):
        return self.number_bytes("I", kind) + self.length(len(elements)) + b"".join(elements)

    def array(self, key, kind, elements):
        return self.pair(key, 9, self.array_value(kind, elements))

    def gguf(self, pairs, tensors, alignment=32, data=True, counts=None, offsets=None):
        n_tensors, n_pairs = counts or (len(tensors), len(pairs))
        out = b"GGUF" + self.number_bytes("I", self.version) + self.length(n_tensors) + self.length(n_pairs)
        out += b"".join(pairs)
        offset = end = 0
        for index, (tensor, kind, ne) in enumerate(tensors):
            block, size = SIZES.get(kind, (1, 0))
            count = 1
            for n in ne:
                count *= n
            out += self.text(tensor) + self.number_bytes("I", len(ne)) + b"".join(self.length(n) for n in ne)
            at = offsets[index] if offsets else offset
            out += self.number_bytes("I", kind) + self.number_bytes("Q", at)
            end = max(end, at + count // block * size)
            offset = -(-(offset + count // block * size) // alignment) * alignment
        out += bytes(-len(out) % alignment)
        return out + bytes(end if data else 0)


PLAIN = Wire()
text, pair, number, name, array, gguf = (PLAIN.text, PLAIN.pair, PLAIN.number, PLAIN.name, PLAIN.array, PLAIN.gguf)


def small_model(wire):
    return wire.gguf(
        [wire.name("general.architecture", "llama"), wire.number("llama.block_count", 1),
         wire.array("tokenizer.ggml.tokens", 8, [wire.text("a"), wire.text("bc")]),
         wire.array("tokenizer.ggml.scores", 6, [wire.number_bytes("f", 1.5)] * 2)],
        [("token_embd.weight", 1, [4, 3]), ("blk.0.attn_q.weight", 12, [256, 1])])


def shard(no, tensors):
    keys = [pair("split.no", 2, struct.pack("<H", no)), pair("split.count", 2, struct.pack("<H", 2)),
            pair("split.tensors.count", 5, struct.pack("<i", 2))]
    return gguf(keys + ([LLAMA] if no == 0 else []), tensors)


LLAMA = name("general.architecture", "llama")
EMBEDDING = ("token_embd.weight", 1, [4, 3])
SCALARS = [("<B", 0), ("<b", 1), ("<H", 2), ("<h", 3), ("<I", 4), ("<i", 5), ("<f", 6), ("<B", 7), ("<Q", 10),
           ("<q", 11), ("<d", 12)]

FILES = {
    "empty": b"",
    "magic-only": b"GGUF",
    "nothing-in-it": gguf([], []),
    "version-1": small_model(Wire(version=1)),
    "version-2": small_model(Wire(version=2)),
    "version-3": small_model(PLAIN),
    "big-endian": small_model(Wire(">")),
    "big-endian-1": small_model(Wire(">", 1)),
    "dense": gguf([LLAMA, name("general.name", "Small"), number("general.file_type", 15),
                   number("llama.block_count", 1), number("llama.context_length", 512)],
                  [EMBEDDING, ("blk.0.attn_q.weight", 12, [256, 1]), ("output.weight", 8, [32, 1])]),
    "experts": gguf([LLAMA, number("llama.expert_count", 4), number("llama.expert_used_count", 1)],
                    [("blk.0.ffn_up_exps.weight", 0, [2, 2, 4])]),
    "next-token-blocks": gguf([LLAMA, number("llama.block_count", 2), number("llama.nextn_predict_layers", 1)],
                              [("blk.0.a", 0, [2]), ("blk.1.a", 0, [2])]),
    "encoder": gguf([LLAMA, pair("llama.attention.causal", 7, b"\0")], [EMBEDDING, ("token_types.weight", 0, [4, 2])]),
    "every-scalar": gguf([pair(f"k{kind}", kind, struct.pack(form, 1)) for form, kind in SCALARS], []),
    "every-array": gguf([array(f"a{kind}", kind, [struct.pack(form, 1)] * 3) for form, kind in SCALARS]
                        + [array("t", 8, [text("a"), text(""), text("word")])], []),
    "array-of-arrays": gguf([array("a", 9, [struct.pack("<IQ", 0, 0)])], []),
    "arrays-nested": gguf([array("a", 9, [PLAIN.array_value(9, [PLAIN.array_value(8, [text("x")])]),
                                          PLAIN.array_value(2, [b"ab"])])], []),
    "shard": shard(0, [("a", 0, [2])]),
    "shard-2": shard(1, [("b", 0, [2])]),
    "every-type": gguf([LLAMA], [(f"blk.0.t{kind}", kind, [256]) for kind in SIZES if kind < 31 or kind in (34, 35) or kind > 38]),
    "every-removed-type": gguf([LLAMA], [(f"t{kind}", kind, [256]) for kind in (31, 32, 33, 36, 37, 38)]),
    "unknown-types": gguf([LLAMA], [("a", 57, [8]), ("b", 4, [32]), ("c", 0, [8])], offsets=[0, 64, 128]),
    "gap": gguf([LLAMA], [EMBEDDING, ("b", 0, [8])], offsets=[0, 96]),
    "other-order": gguf([LLAMA], [EMBEDDING, ("b", 0, [8])], offsets=[32, 0]),
    "long-name": gguf([LLAMA], [("n" * 80, 0, [1])]),
    "adapter": gguf([LLAMA, name("general.type", "adapter"), name("adapter.type", "lora")],
                    [("blk.0.attn_q.weight.lora_a", 0, [4, 2]), ("blk.0.attn_q.weight.lora_b", 0, [2, 4])]),
    "projector": gguf([name("general.architecture", "clip"), number("clip.vision.block_count", 1)],
                      [("v.blk.0.attn_q.weight", 0, [4]), ("mm.0.weight", 0, [4])]),
    "sources": gguf([LLAMA, name("general.quantized_by", "someone"), name("general.base_model.0.name", "Base"),
                     array("general.datasets", 8, [text("a"), text("b")]), name("tokenizer.chat_template", "{{}}"),
                     name("tokenizer.chat_template.tools", "{{}}"), name("tokenizer.ggml.model", "gpt2")], []),
    "alignment-1": gguf([number("general.alignment", 1)], [("a", 24, [3]), ("b", 24, [3])], alignment=1),
    "alignment-3": gguf([number("general.alignment", 3)], []),
    "zero-dimension": gguf([LLAMA], [("a", 12, [0, 7]), ("b", 0, []), ("c", 0, [3, 0, 2, 1])]),
    "huge-tensor": gguf([LLAMA], [("a", 24, [1 << 62])], data=False),
    "huge-counts": gguf([], [], counts=(1 << 62, 1 << 61)),
    "same-key-twice": gguf([LLAMA, LLAMA], []),
    "same-tensor-twice": gguf([], [EMBEDDING, EMBEDDING]),
    "nul-and-escapes": gguf([name(b"k\0\x1b[2J", b"\xff\xfe\x1b]0;x\x07")], [("a\0b\x1b[31m", 0, [1])]),
    "removed-type": gguf([], [("a", 4, [32])]),
    "cut-in-data": gguf([LLAMA], [EMBEDDING], data=False),
}

OUT.mkdir(parents=True, exist_ok=True)
for file, content in FILES.items():
    (OUT / file).write_bytes(content)
print(f"{len(FILES)} files in {OUT}")

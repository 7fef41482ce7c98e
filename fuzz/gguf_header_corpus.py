#!/usr/bin/env python3
"""Writes corpus/gguf_header: one tiny file for each feature of the format, good and bad, for the fuzz
target to start from. Deterministic; run it again after a change and commit what it wrote."""
import pathlib
import struct

OUT = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf_header"
SIZES = {0: (1, 4), 1: (1, 2), 8: (32, 34), 12: (256, 144), 24: (1, 1)}


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def number(key, value):
    return pair(key, 4, struct.pack("<I", value))


def name(key, value):
    return pair(key, 8, text(value))


def array(key, kind, elements):
    return pair(key, 9, struct.pack("<IQ", kind, len(elements)) + b"".join(elements))


def gguf(pairs, tensors, version=3, alignment=32, data=True, counts=None):
    n_tensors, n_pairs = counts or (len(tensors), len(pairs))
    out = b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_pairs) + b"".join(pairs)
    offset = end = 0
    for tensor, kind, ne in tensors:
        block, size = SIZES.get(kind, (1, 0))
        count = 1
        for n in ne:
            count *= n
        out += text(tensor) + struct.pack("<I", len(ne)) + b"".join(struct.pack("<Q", n) for n in ne)
        out += struct.pack("<IQ", kind, offset)
        end = offset + count // block * size
        offset = -(-end // alignment) * alignment
    out += bytes(-len(out) % alignment)
    return out + bytes(end if data else 0)


LLAMA = name("general.architecture", "llama")
EMBEDDING = ("token_embd.weight", 1, [4, 3])
SPLIT = [pair("split.no", 2, struct.pack("<H", 0)), pair("split.count", 2, struct.pack("<H", 2)),
         pair("split.tensors.count", 5, struct.pack("<i", 2))]
SCALARS = [("<B", 0), ("<b", 1), ("<H", 2), ("<h", 3), ("<I", 4), ("<i", 5), ("<f", 6), ("<B", 7), ("<Q", 10),
           ("<q", 11), ("<d", 12)]

FILES = {
    "empty": b"",
    "magic-only": b"GGUF",
    "nothing-in-it": gguf([], []),
    "version-1": gguf([], [], version=1),
    "version-2": gguf([LLAMA], [EMBEDDING], version=2),
    "big-endian": gguf([], [], version=0x03000000),
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
    "shard": gguf(SPLIT + [LLAMA], [("a", 0, [2])]),
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

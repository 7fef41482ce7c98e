#!/usr/bin/env python3
"""Fails when a folder of src/ includes one that it may not see, or when a system header that only
os/ may use stands elsewhere. CMake does not notice either: headers are found through one include path."""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": set(),
    "evidence": {"base"},
    "gguf": {"base", "evidence"},
    "verdict": {"base", "evidence"},
    "report": {"base", "evidence"},
    "os": {"base"},
    "machine": {"base", "evidence", "os"},
    "meters": {"base", "evidence", "os"},
    "engines": {"base", "evidence", "os"},
    "kept": {"base", "evidence", "os"},
    "history": {"base", "evidence", "os", "kept"},
    "models": {"base", "evidence", "os", "engines"},
    "results": {"base", "evidence", "verdict"},
    "exporter": {"base"},
    "commands": {"base", "evidence", "gguf", "verdict", "report", "os", "machine", "meters", "engines", "kept", "history", "models", "results", "exporter"},
    "main.cpp": {"base", "commands", "evidence"},
}
SYSTEM = re.compile(r"#include <(unistd\.h|dlfcn\.h|fcntl\.h|signal\.h|poll\.h|termios\.h|ifaddrs\.h|spawn\.h|curl/.*|openssl/.*|CommonCrypto/.*|sys/.*)>")

bad = 0
root = pathlib.Path(__file__).resolve().parent.parent / "src"
for path in sorted(root.rglob("*")):
    if path.suffix not in {".h", ".cpp"}:
        continue
    here = path.relative_to(root).parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.relative_to(root.parent)}:{number}"
        match = re.match(r'#include "([a-z_]+)/', line)
        if match and match[1] != here and match[1] not in MAY_INCLUDE.get(here, set()):
            print(f"{where}: {here} may not include {match[1]}")
            bad = 1
        if here != "os" and not path.name.endswith("_test.cpp") and SYSTEM.match(line):
            print(f"{where}: only os/ may include a system header")
            bad = 1
sys.exit(bad)

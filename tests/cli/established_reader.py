#!/usr/bin/env python3
"""A reader of blocks in the grammar of the established tool of this kind, written from a description of
that grammar alone and without regard to ours: what it cannot read, the readers out there cannot either.

usage: established_reader.py FILE...   prints each file's fields; fails when one that must be there is not

Its rules: text around a block is ignored; a block needs a `model` line and a row of rates, both at the first
column; the first line of each label counts; unknown lines are passed over."""
import re
import sys

CELL = r"(?:(?P<{0}>[0-9.]+) tok/s|(?P<{0}_word>n/a|abstain))"
RATES = r"\s+".join(CELL.format(lane) for lane in ("prefill", "decode", "wallclock"))
SPAN = r"(?:[0-9.]+~[0-9.]+|-)"
RULES = {
    "model": r"^model    (?P<name>.+?)(?:, (?P<params>[0-9.]+ [KMBT]))?(?:, (?P<quant>[A-Za-z0-9_]+))?"
             r"(?:, (?P<size>[0-9.]+ (?:KiB|MiB|GiB)))?, (?P<engine>[^,]+)$",
    "gpu": r"^gpu      (?P<state>ENGAGED|PARTIAL|NOT ENGAGED|NO EVIDENCE)"
           r"(?:: (?P<n>\d+)/(?P<total>\d+) layers on GPU|: (?P<percent>\d+)% of weights in GPU memory \(ollama ps\)"
           r"|: .*| \(.*\))?(?: \((?P<kind>[A-Za-z]+)(?:: (?P<device>.+?))?\))?(?: \[(?P<args>.*)\])?$",
    "os": r"^os       gpu (?:idle (?P<idle>\d+)%, work (?P<work>\d+)%(?:, mem (?P<mem>[+-][0-9.]+) GiB)?"
          r"(?:, (?P<watts>[0-9.]+) W)?(?:, (?P<joules>[0-9.]+|n/a) J/tok)?(?:, throttled)?"
          r"|not sampled \((?P<reason>.*)\); evidence: \S+)$",
    "settings": r"^settings (?:not recorded: .+|temp (?P<temp>[0-9.]+), top-k (?P<top_k>\d+), top-p (?P<top_p>[0-9.]+), "
                r"min-p (?P<min_p>[0-9.]+), seed (?P<seed>-?\d+))$",
    "head": r"^ctx (?P<ctx>\d+|\?)\s+prefill\s+decode\s+wallclock$",
    "cold": r"^  cold\s+" + RATES + "$",
    "warm": r"^  warm mid\s+" + RATES + "$",
    "span": rf"^  warm span\s+{SPAN}\s+{SPAN}\s+{SPAN}$",
    "where": r"^(?:where the cold pass went \((?P<wall>[0-9.]+) s(?:, (?P<threads>\d+)/(?P<cores>\d+) threads)?.*\)"
             r"|cold start not measured: the server already owned the weights)$",
    "verdict": r"^VERDICT: (?P<verdict>[A-Z ]+)\. ",
    "footer": r"^-- picchio v(?P<version>\S+) (?P<protocol>\S+) on (?P<chip>.+?)(?: \+ (?P<gpu>.+?))?, (?P<ram>\d+|\?) GB, "
              r"(?P<os_name>.+)$",
}
BAR = re.compile(r"^  (load weights|prefill|decode|engine misc) +(?:[0-9.]+ s|n/a  )  [#.]{28}  +(?:\d+%|n/a)$")


def read(text):
    found = {}
    bars = 0
    for line in text.replace("\r\n", "\n").split("\n"):
        bars += bool(BAR.match(line))
        for label, rule in RULES.items():
            match = re.match(rule, line)
            if match and label not in found:
                found[label] = {key: value for key, value in match.groupdict().items() if value is not None}
    return found, bars


def problem_of(found, bars):
    for label in ("model", "gpu", "os", "settings", "head", "where", "verdict", "footer"):
        if label not in found:
            return f"no '{label}' line"
    if "cold" not in found and "warm" not in found:
        return "no row of rates"
    if "warm" in found and "span" not in found:
        return "a warm median without its span"
    if "wall" in found["where"] and bars != 4:
        return f"{bars} bars of the cold pass, not 4"
    return ""


def main():
    failed = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            found, bars = read(file.read())
        problem = problem_of(found, bars)
        failed += bool(problem)
        name = found.get("model", {}).get("name", "?")
        verdict = found.get("verdict", {}).get("verdict", "?")
        print(f"{path.rsplit('/', 1)[-1]}: {problem or 'read'}: {name}, {verdict}")
    sys.exit(1 if failed or len(sys.argv) < 2 else 0)


main()

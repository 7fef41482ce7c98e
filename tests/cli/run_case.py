#!/usr/bin/env python3
"""Runs one case of a *.test file against the built program. The format is described in README.md.

Exit status: 0 passed, 1 failed, 77 skipped (ctest's SKIP_RETURN_CODE) with the reason on stdout.
"""

import argparse
import contextlib
import glob
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import processes

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SKIP = 77
BLOCK_COLUMNS = 66
BLOCK_LINES = 20
# A test says itself what steers the engine; what the developer's shell holds must not.
STEERING = re.compile(
    r"^(LLAMA|GGML|OLLAMA|CUDA|HIP|ROCR|HSA|VK|MESA|GPU|ONEAPI|ZE|MUSA|ASCEND|PICCHIO|HF|HUGGINGFACE)_|^(LC_.*|LANG|NO_COLOR)$")
KEYWORDS = {"NAME", "LABEL", "REQUIRES", "TIMEOUT", "ENV", "MODEL", "SERVER", "STDIN", "RUN", "EXIT", "EXPECT",
            "EXPECT_NOT", "EXPECT_RE", "EXPECT_ERR", "EXPECT_ERR_NOT", "EXPECT_ERR_RE", "EXPECT_EMPTY", "EXPECT_JSON",
            "EXPECT_SCHEMA", "EXPECT_BLOCK", "EXPECT_FILE", "EXPECT_MEMORY", "LEAVES"}


class Failure(Exception):
    """A case that did not hold; the text is for the developer."""


@dataclass
class Step:
    command: str
    line: int
    stdin: str = ""
    exit_code: int = 0
    checks: list = field(default_factory=list)  # (keyword, argument, line)


@dataclass
class Case:
    name: str
    requires: list = field(default_factory=list)
    environment: list = field(default_factory=list)
    timeout: float = 60
    leaves: bool = False
    models: list = field(default_factory=list)
    servers: list = field(default_factory=list)
    steps: list = field(default_factory=list)


def add_line(case, keyword, argument, number, pending_stdin):
    """Adds one line of the file to the case; returns the input that waits for the next RUN."""
    step = case.steps[-1] if case.steps else None
    if keyword == "REQUIRES":
        case.requires += argument.split()
    elif keyword == "ENV":
        case.environment.append(argument)
    elif keyword == "TIMEOUT":
        case.timeout = float(argument)
    elif keyword == "MODEL":
        case.models.append(argument)
    elif keyword == "SERVER":
        case.servers.append(argument)
    elif keyword == "LEAVES":
        case.leaves = True
    elif keyword == "STDIN":
        return pending_stdin + argument + "\n"
    elif keyword == "RUN":
        case.steps.append(Step(argument, number, pending_stdin))
        return ""
    elif keyword == "EXIT" and step:
        step.exit_code = int(argument)
    elif keyword.startswith("EXPECT") and step:
        step.checks.append((keyword, argument, number))
    elif keyword != "LABEL":  # read by CMake
        raise Failure(f"line {number}: {keyword} before the first RUN")
    return pending_stdin


def parse(path):
    cases, pending = {}, ""
    case = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        keyword, _, argument = line.partition(" ")
        if keyword not in KEYWORDS:
            raise Failure(f"{path.name}:{number}: unknown keyword '{keyword}'")
        if keyword == "NAME":
            if argument in cases:
                raise Failure(f"{path.name}:{number}: a second case '{argument}'")
            case = cases[argument] = Case(argument)
        elif case is None:
            raise Failure(f"{path.name}:{number}: {keyword} before the first NAME")
        else:
            pending = add_line(case, keyword, argument, number, pending)
    for case in cases.values():
        if not case.steps:
            raise Failure(f"{path.name}: case '{case.name}' runs nothing")
    return cases


def has_gpu():
    return any(glob.glob(pattern) for pattern in
               ("/dev/nvidia[0-9]*", "/dev/kfd", "/dev/dri/renderD*", "/dev/dxg", "/proc/driver/nvidia/gpus/*"))


def not_alone():
    """What `picchio` without a model would offer here besides a case's own files, or None."""
    for store in ("/usr/share/ollama/.ollama", "/var/lib/ollama"):
        if os.path.exists(store):
            return f"there is an ollama store of the system, {store}"
    for port in (11434, 8080, 9931, 1234, 8000, 30000, 5001, 5000):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return f"something listens on port {port}"
    return None


def missing_requirement(name, variables):
    """Why this machine cannot run the case, or None."""
    kind, _, detail = name.partition(":")
    rig = variables["RIG"]
    reasons = {
        "rig": lambda: None if rig and os.access(f"{rig}/bin/llama-completion", os.X_OK)
        else "the engine rig is missing (tests/rig/make_rig.sh DIR, then cmake -DPICCHIO_RIG=DIR)",
        "gpu": lambda: None if has_gpu() else "no GPU in this machine",
        "no-gpu": lambda: "this machine has a GPU" if has_gpu() else None,
        "corpus": lambda: None if os.path.isdir(variables["CORPUS"] or "") else "the log corpus is not here",
        "schema": lambda: None if find_schema(detail) else f"docs/schema/{detail} is not here",
        "tool": lambda: None if shutil.which(detail) else f"the program '{detail}' is not installed",
        "alone": not_alone,
        "linux": lambda: None if sys.platform == "linux" else "not Linux",
        "root": lambda: "not running as root" if os.geteuid() != 0 else None,
        "not-root": lambda: "running as root, whom no permission stops" if os.geteuid() == 0 else None,
    }
    if kind not in reasons:
        raise Failure(f"unknown requirement '{name}'")
    return reasons[kind]()


def find_schema(name):
    path = SOURCE / "docs" / "schema" / name
    if not path.is_file():
        return None
    try:
        import jsonschema  # noqa: F401  (a schema without its reader is as good as none)
    except ImportError:
        return None
    return path


# One step of a JSON path: ".name", "[3]" or "[-1]".
PATH_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(-?\d+)\]")


def json_at(document, path):
    at, value = 0, document
    while at < len(path):
        step = PATH_STEP.match(path, at)
        if not step:
            raise Failure(f"cannot read the JSON path '{path}' at '{path[at:]}'")
        try:
            value = value[step[1]] if step[1] else value[int(step[2])]
        except (KeyError, IndexError, TypeError):
            raise Failure(f"no '{path[:step.end()]}' in the JSON") from None
        at = step.end()
    return value


def json_value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_json(argument, document):
    """PATH=VALUE, PATH!=VALUE, PATH<NUMBER, PATH>NUMBER, PATH~REGEX, or PATH alone: it is there."""
    parts = re.match(r"^([^=!<>~]+?)\s*(?:(!=|=|<|>|~)\s*(.*))?$", argument)
    if not parts:
        raise Failure(f"cannot read '{argument}'")
    path, operator, text = parts.groups()
    value = json_at(document, path)
    if operator is None:
        return
    wanted = text if operator == "~" else json_value(text)
    try:
        holds = {
            "=": lambda: value == wanted and isinstance(value, bool) == isinstance(wanted, bool),
            "!=": lambda: value != wanted,
            "<": lambda: value < wanted,
            ">": lambda: value > wanted,
            "~": lambda: re.search(wanted, value if isinstance(value, str) else json.dumps(value)) is not None,
        }[operator]()
    except TypeError:
        holds = False
    if not holds:
        raise Failure(f"{path} is {json.dumps(value)}, expected {operator} {text}")


def check_block(text):
    """What every block promises: size, plain ASCII, and a verdict before the footer."""
    lines = text.rstrip("\n").split("\n")
    for number, line in enumerate(lines, 1):
        odd = [c for c in line if not " " <= c <= "~"]
        if odd:
            raise Failure(f"block line {number} holds {odd[0]!r}, which is not printable ASCII: {line!r}")
        free = line.startswith("model ") or line.startswith("-- picchio")
        if len(line) > BLOCK_COLUMNS and not free:
            raise Failure(f"block line {number} has {len(line)} columns: {line}")
        if line != line.rstrip():
            raise Failure(f"block line {number} ends in blanks: {line!r}")
    if len(lines) > BLOCK_LINES:
        raise Failure(f"the block has {len(lines)} lines, the limit is {BLOCK_LINES}")
    verdicts = [line for line in lines if line.startswith("VERDICT: ")]
    if len(verdicts) != 1:
        raise Failure(f"the block has {len(verdicts)} VERDICT lines")
    if not lines[0].startswith("model    ") or not lines[-1].startswith("-- picchio v"):
        raise Failure("the block does not begin with the model and end with the footer")


def check_memory(limit, output):
    before, after = output["peak_mib"]
    if after <= limit:
        return
    if before > limit:
        raise Failure(f"something before this RUN took {before:.0f} MiB, so that its own peak cannot be told")
    raise Failure(f"took {after:.0f} MiB at its peak, the limit is {limit:g} MiB")


def check_schema(name, document):
    path = find_schema(name)
    if path is None:
        raise Failure(f"docs/schema/{name} or python3-jsonschema is missing; the case lacks REQUIRES schema:{name}")
    import jsonschema
    try:
        jsonschema.validate(document, json.loads(path.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise Failure(f"the JSON breaks {name} at '{where}': {error.message}") from None


def parsed_json(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failure(f"stdout is not JSON: {error}") from None


def found(needle, text):
    return None if needle in text else f"not found: {needle}"


def not_found(needle, text):
    return f"must not stand there: {needle}" if needle in text else None


def matches(pattern, text):
    return None if re.search(pattern, text, re.MULTILINE) else f"nothing matches: {pattern}"


TEXT_CHECKS = {
    "EXPECT": ("stdout", found), "EXPECT_NOT": ("stdout", not_found), "EXPECT_RE": ("stdout", matches),
    "EXPECT_ERR": ("stderr", found), "EXPECT_ERR_NOT": ("stderr", not_found),
    "EXPECT_ERR_RE": ("stderr", matches),
}


def check(keyword, argument, output, work):
    if keyword in TEXT_CHECKS:
        stream, test = TEXT_CHECKS[keyword]
        problem = test(argument, output[stream])
        if problem:
            raise Failure(f"{stream}: {problem}")
    elif keyword == "EXPECT_EMPTY":
        if output[argument]:
            raise Failure(f"{argument} should be empty")
    elif keyword == "EXPECT_FILE":
        if not glob.glob(str(work / argument)):
            raise Failure(f"no file '{argument}'")
    elif keyword == "EXPECT_BLOCK":
        check_block(output["stdout"])
    elif keyword == "EXPECT_MEMORY":
        check_memory(float(argument), output)
    elif keyword == "EXPECT_JSON":
        check_json(argument, parsed_json(output["stdout"]))
    elif keyword == "EXPECT_SCHEMA":
        check_schema(argument, parsed_json(output["stdout"]))


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def peak_mib():
    """The most memory that one of the processes that have ended held."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def is_sanitized(program):
    """A build with a sanitizer keeps shadow memory: its size says nothing."""
    mark, before = b"__asan_init", b""
    with open(program, "rb") as file:
        while part := file.read(1 << 20):  # in parts: what this process holds, its children begin with
            if mark in before + part:
                return True
            before = part[-len(mark):]
    return False


@contextlib.contextmanager
def servers(case, work, environment):
    """Runs the case's stand-ins; yields $PORT and $URL of the first, $PORT2 and $URL2 of the second."""
    running, variables = [], {}
    try:
        for number, words in enumerate(case.servers, 1):
            suffix = str(number) if number > 1 else ""
            port_file = work / f"port{suffix}"
            running.append(subprocess.Popen(
                [sys.executable, "-B", HERE / "stand_in/server.py", "--port-file", port_file, *shlex.split(words)],
                cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            deadline = time.monotonic() + 30
            while not port_file.exists():
                if running[-1].poll() is not None or time.monotonic() > deadline:
                    raise Failure(f"the server does not start: {words}")
                time.sleep(0.02)
            port = port_file.read_text().strip()
            variables |= {f"PORT{suffix}": port, f"URL{suffix}": f"http://127.0.0.1:{port}"}
        yield variables
    finally:
        for server in running:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def run_step(step, environment, work, timeout):
    before = peak_mib()
    with subprocess.Popen(["/bin/sh", "-c", step.command], cwd=work, env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, err = process.communicate(step.stdin.encode(), timeout)
        except subprocess.TimeoutExpired:
            signal_group(process, signal.SIGTERM)  # picchio takes its engine along
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
            raise Failure(f"line {step.line}: still running after {timeout:g} s: {step.command}") from None
        finally:
            signal_group(process, signal.SIGKILL)
    return process.returncode, {"stdout": out.decode("utf-8", "surrogateescape"),
                                "stderr": err.decode("utf-8", "surrogateescape"), "peak_mib": (before, peak_mib())}


def show(step, code, output):
    print(f"--- line {step.line}: {step.command}\n--- exit {code}")
    # First what tells most: whoever shows a log of many tests cuts it.
    for stream, text in ((s, output[s]) for s in ("stderr", "stdout")):
        shown = text if len(text) < 8000 else text[:4000] + "\n[...]\n" + text[-4000:]
        print(f"--- {stream}\n{shown.encode('ascii', 'backslashreplace').decode()}", end="\n" if shown else "")


def run_case(case, variables, work):
    environment = {k: v for k, v in os.environ.items() if not STEERING.match(k)}
    with servers(case, work, environment) as found:
        run_steps(case, variables | found, work)


def run_steps(case, variables, work):
    environment = {k: v for k, v in os.environ.items() if not STEERING.match(k)}
    folders = {"HOME": work / "home", "TMPDIR": work / "tmp", "XDG_CACHE_HOME": work / "cache"}
    for folder in folders.values():
        folder.mkdir()
    marker = f"PICCHIO_CASE={uuid.uuid4()}"
    environment.update({k: str(v) for k, v in folders.items()}, LC_ALL="C.UTF-8", **variables)
    # llama.cpp's threads spin at every barrier: with more of them than free cores, which a parallel ctest
    # makes certain, a pass of half a second takes a minute.
    environment["LLAMA_ARG_THREADS"] = "1"
    environment["PICCHIO_CASE"] = marker.partition("=")[2]
    for assignment in case.environment:
        name, _, value = assignment.partition("=")
        environment[name] = string.Template(value).safe_substitute(environment)
    for model in case.models:
        subprocess.run([sys.executable, SOURCE / "tests/rig/make_tiny_gguf.py", work / model, "--layers", "2"],
                       check=True)
    sanitized = is_sanitized(variables["PICCHIO"])
    for step in case.steps:
        code, output = run_step(step, environment, work, case.timeout)
        try:
            if code != step.exit_code:
                raise Failure(f"exit code {code}, expected {step.exit_code}")
            for keyword, argument, line in step.checks:
                if keyword == "EXPECT_MEMORY" and sanitized:
                    continue
                try:
                    check(keyword, string.Template(argument).safe_substitute(variables), output, work)
                except Failure as failure:
                    raise Failure(f"line {line}: {failure}") from None
        except Failure:
            show(step, code, output)
            raise
    alive = processes.left_after(marker, 2)
    if alive:
        names = ", ".join(processes.describe(pid) for pid in alive)
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
        raise Failure(f"processes left: {names}")
    left = [] if case.leaves else sorted(os.listdir(folders["TMPDIR"]))
    if left:
        raise Failure(f"left in the temporary folder: {', '.join(left)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("case", nargs="?", help="all cases of the file when left out")
    parser.add_argument("--picchio", required=True)
    parser.add_argument("--rig", default="")
    parser.add_argument("--corpus", default="")
    options = parser.parse_args()
    variables = {"PICCHIO": os.path.abspath(options.picchio), "RIG": options.rig and os.path.abspath(options.rig),
                 "CORPUS": options.corpus, "FAKES": str(HERE.parent / "fakes"), "CLI": str(HERE),
                 "SOURCE": str(SOURCE), "PYTHON": sys.executable}
    built = Path(variables["PICCHIO"]).parent
    variables["NVML"] = str(built / "tests/fakes/nvml/550/libnvidia-ml.so.1")
    try:
        cases = parse(options.file)
        wanted = [options.case] if options.case else list(cases)
        skipped = 0
        for name in wanted:
            if name not in cases:
                raise Failure(f"no case '{name}' in {options.file}")
            reasons = [r for r in (missing_requirement(q, variables) for q in cases[name].requires) if r]
            if reasons:
                print(f"skipped {name}: {'; '.join(reasons)}")
                skipped += 1
                continue
            with tempfile.TemporaryDirectory(prefix="picchio-cli-") as work:
                run_case(cases[name], variables, Path(work))
            print(f"passed {name}")
        return SKIP if skipped == len(wanted) else 0
    except Failure as failure:
        print(f"FAILED {options.file.name} {options.case or ''}: {failure}")
        return 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The systemd unit, by systemd's own check, with the built program in the installed one's place.

usage: unit_file.py --unit FILE --picchio PROGRAM
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77


def verify(folder, text, name):
    path = folder / "picchio-monitor@.service"
    path.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(folder / name)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    # It reads the units of the system too, and tells of theirs.
    said = [line for line in (done.stdout + done.stderr).splitlines() if "picchio" in line]
    return done.returncode, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unit", type=pathlib.Path, required=True)
    parser.add_argument("--picchio", required=True)
    options = parser.parse_args()
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze here (Debian's package systemd)")
        return SKIP
    text = options.unit.read_text()
    if "ExecStart=picchio " not in text:
        sys.exit("the unit does not start picchio by its name")
    runnable = text.replace("ExecStart=picchio ", f"ExecStart={pathlib.Path(options.picchio).resolve()} ")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, said = verify(folder, runnable, "picchio-monitor@gpu01.service")
        if code or said:
            sys.exit(f"exit {code}: {said}")
        # A setting that systemd does not know must be seen, or the check above tells nothing.
        code, said = verify(folder, runnable.replace("NoNewPrivileges", "NoSuchPrivileges"),
                            "picchio-monitor@gpu02.service")
        if not any("NoSuchPrivileges" in line for line in said):
            sys.exit("systemd-analyze does not tell of an unknown setting")
    # The exit codes of findings (README) are no crash; those of failures start it anew.
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    if settings.get("SuccessExitStatus", "").split() != ["3", "4", "5", "7"]:
        sys.exit("SuccessExitStatus is not the list of findings")
    if settings.get("Restart") != "on-failure":
        sys.exit("a crash does not start it anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""`picchio guard` around living programs: terminals, signals, processes that outlive it, real engines.

    guard_live.py PICCHIO CASE [RIG]

Prints "ok" and what was measured; an AssertionError otherwise. Exit status 77: something is missing here."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
import urllib.request

from pseudo_terminal import read_until

PICCHIO, CASE = sys.argv[1:3]
RIG = sys.argv[3] if len(sys.argv) > 3 else ""
GUARD = [PICCHIO, "guard", "--no-telemetry"]


def need(found, what):
    if not found:
        print("skipped: no", what)
        sys.exit(77)


def lead_session(command):
    """As a shell does: `command` in a group of its own in front, and its exit code. With the end of a session's leader
    the kernel drops what the terminal has not handed on yet, so that the command must not be it."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    _, status = os.waitpid(pid, 0)
    time.sleep(0.5)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def on_terminal(command, rows=24, columns=80):
    """Pid and master of a session with a terminal of that size, whose exit code is that of `command`."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.environ["PS1"] = "PROMPT> "
        lead_session(command)
    return pid, master


def end_of(pid, master, have=b"", seconds=20):
    """Everything until it ends, and its exit code."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.05)[0]:
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            have += got
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return have, os.waitstatus_to_exitcode(status)


def ctrl_c():
    script = "import time, sys\ntry:\n  print('up', file=sys.stderr, flush=True); time.sleep(30)\n" \
             "except KeyboardInterrupt:\n  print('caught', file=sys.stderr, flush=True); sys.exit(7)"
    pid, master = on_terminal(GUARD + ["--quiet", "--", sys.executable, "-c", script])
    have = read_until(master, b"", b"up", 10)
    os.write(master, b"\x03")
    have, code = end_of(pid, master, have)
    assert have.count(b"caught") == 1 and code == 7, (have, code)


def ctrl_z():
    need(shutil.which("bash"), "bash")
    # No shell that starts something: one that is stopped between vfork() and exec() holds its parent.
    script = "import sys, time\nprint('one', file=sys.stderr, flush=True)\ntime.sleep(3)\n" \
             "print('two', file=sys.stderr, flush=True)\nsys.exit(5)\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        stop_and_go_on(GUARD + ["--quiet", "--", sys.executable, file.name])


def stop_and_go_on(command):
    pid, master = on_terminal(["bash", "--norc", "--noprofile", "-i"])
    have = read_until(master, b"", b"PROMPT> ", 10)
    os.write(master, " ".join(command).encode() + b"\n")
    have = read_until(master, have, b"one\r\n", 10)
    os.write(master, b"\x1a")
    have = read_until(master, have, b"Stopped", 10)
    assert b"Stopped" in have, have
    time.sleep(0.3)
    os.write(master, b"fg\n")
    have = read_until(master, have, b"two\r\n", 15)
    assert b"two\r\n" in have, have
    os.write(master, b"echo code=$?\n")
    have = read_until(master, have, b"code=5", 10)
    assert b"code=5" in have, have
    os.write(master, b"exit\n")
    end_of(pid, master, have)


def window_size():
    script = "import os, signal, sys, time\n" \
             "show = lambda *_: print('size', *os.get_terminal_size(2), os.isatty(2), file=sys.stderr, flush=True)\n" \
             "signal.signal(signal.SIGWINCH, show); show()\nfor _ in range(100): time.sleep(0.1)"
    pid, master = on_terminal(GUARD + ["--", sys.executable, "-c", script], 33, 77)
    have = read_until(master, b"", b"size 77 33 True", 10)
    assert b"size 77 33 True" in have, have
    time.sleep(0.2)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    time.sleep(0.5)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 51, 101, 0, 0))
    have = read_until(master, have, b"size 101 51", 10)
    # The signal comes from the real terminal, a moment before the size is copied: the one before shows.
    assert b"size 101 51" in have or b"size 100 50" in have, have
    os.write(master, b"\x03")
    end_of(pid, master, have)


def full_screen():
    """An editor writes a file through us; nothing of ours stands in its screen."""
    editor = shutil.which("vim") or shutil.which("vi")
    need(editor, "vim")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        pid, master = on_terminal(GUARD + ["--", editor, "-u", "NONE", path])
        have = read_until(master, b"", b"[New", 15)
        os.write(master, b"ihello\x1b")
        time.sleep(0.5)
        os.write(master, b":wq\r")
        have, code = end_of(pid, master, have)
        assert code == 0, (code, have)
        with open(path, encoding="ascii") as file:
            assert file.read() == "hello\n"
        left = have.rfind(b"\x1b[?1049l")
        assert left > 0 and b"picchio:" not in have[:left], have
        assert b"picchio: vim ended with code 0" in have[left:] or b"picchio: vi ended" in have[left:], have


def waits_for_the_line():
    """A finding never breaks into a line of the program."""
    log = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs", "cuda-ngl-20.log"), "rb").read()
    script = "import os, sys, time\nos.write(2, open(sys.argv[1], 'rb').read()); os.write(2, b'half')\n" \
             "time.sleep(1.5); os.write(2, b' line\\n'); time.sleep(0.7); os.write(2, b'last\\n')"
    with tempfile.NamedTemporaryFile() as file:
        file.write(log)
        file.flush()
        run = subprocess.run(GUARD + ["--", sys.executable, "-c", script, file.name], stderr=subprocess.PIPE,
                             timeout=30, check=True)
    lines = run.stderr.split(b"\n")
    assert b"half line" in lines, lines
    ours = [i for i, line in enumerate(lines) if line.startswith(b"picchio: PARTIAL")]
    assert len(ours) == 1 and lines.index(b"half line") < ours[0] < lines.index(b"last"), lines


def same_bytes():
    """Binary, unterminated, many writes: what comes out is what went in."""
    script = "import os, random, sys\nr = random.Random(7)\nfor _ in range(400):\n" \
             "  os.write(2, r.randbytes(r.randrange(1, 9000)))\n  os.write(1, r.randbytes(r.randrange(1, 900)))"
    plain = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    through = subprocess.run(GUARD + ["--quiet", "--", sys.executable, "-c", script], capture_output=True, check=True)
    assert plain.stderr == through.stderr and plain.stdout == through.stdout


def signals():
    """Each signal reaches the program once, whether it was sent to us or to all of the group."""
    script = "import os, signal, sys, time\ncount = {}\n" \
             "def note(n, _): count[n] = count.get(n, 0) + 1\n" \
             "for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT): signal.signal(n, note)\n" \
             "print('up', flush=True)\nend = time.time() + 1.5\n" \
             "while time.time() < end: time.sleep(0.05)\n" \
             "print(sorted((int(n), c) for n, c in count.items()), flush=True)"
    for to_group in (False, True):
        run = subprocess.Popen(GUARD + ["--quiet", "--", sys.executable, "-c", script], stdout=subprocess.PIPE,
                               start_new_session=True)
        assert run.stdout.readline() == b"up\n"
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT):
            (os.killpg if to_group else os.kill)(run.pid, number)
        out = run.communicate(timeout=20)[0]
        assert out == b"[(1, 1), (2, 1), (10, 1), (15, 1)]\n" and run.returncode == 0, (to_group, out)


def killed():
    """Killed ourselves: the program goes on, and what it says still arrives."""
    script = "import os, sys, time\nprint(os.getpid(), flush=True)\nfor i in range(20):\n" \
             "  print('line', i, file=sys.stderr, flush=True); time.sleep(0.1)"
    run = subprocess.Popen(GUARD + ["--", sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.readline()
    time.sleep(0.3)
    run.kill()
    run.wait()
    said = run.stderr.read()
    assert [line for line in said.split(b"\n") if line] == [b"line %d" % i for i in range(20)], said


def grandchild():
    """One that outlives the command keeps its stderr; we are gone at once."""
    script = "(for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; echo late $i >&2 || exit 1; done; echo done >&2) & exit 3"
    began = time.monotonic()
    run = subprocess.Popen(GUARD + ["--", "sh", "-c", script], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    code = run.wait(timeout=20)
    took = time.monotonic() - began
    said = run.stderr.read()
    assert code == 3 and took < 1.5, (code, took)
    assert said.endswith(b"done\n") and said.count(b"late") == 9, said
    assert b"a process that it started writes on" in said, said


def closed_reader():
    """Nobody reads our stderr any more: the program gets the SIGPIPE that it would get without us."""
    run = subprocess.Popen(GUARD + ["--", "sh", "-c", "while echo x >&2; do :; done"], stderr=subprocess.PIPE)
    run.stderr.read(10)
    run.stderr.close()
    assert run.wait(timeout=20) == 128 + signal.SIGPIPE, run.returncode


# Ends by SIGPIPE where nobody reads, as most programs do.
TALKS = "import os, signal, time\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nprint('out', flush=True)\n" \
        "for i in range(50): os.write(2, b'x' * 500 + b'\\n'); time.sleep(0.01)\n" \
        "print('end', flush=True)\nos._exit(5)"


def lost_output():
    """What stderr does not take is lost, and the command lives on: only a reader that left ends it."""
    for redirect in ("2>/dev/full", "2>&-"):
        words = " ".join(f"'{word}'" for word in GUARD + ["--", "sh", "-c", 'exec "$0" -c "$1"', sys.executable])
        run = subprocess.run(["sh", "-c", f'{words} "$1" {redirect}', "sh", TALKS], stdout=subprocess.PIPE, timeout=30,
                             check=False)
        assert run.returncode == 5 and run.stdout == b"out\nend\n", (redirect, run)


def later_bytes():
    """After an error later bytes are written again: here a file size limit that is met and then lifted."""
    import resource
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "err")
        with open(path, "wb") as file:
            script = "import os, sys\nos.write(2, b'a' * 9000)\nsys.stdin.read(1)\nos.write(2, b'late')"
            run = subprocess.Popen(GUARD + ["--quiet", "--", sys.executable, "-c", script], stderr=file,
                                   stdin=subprocess.PIPE,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 1 << 20)))
            deadline = time.monotonic() + 20
            while os.path.getsize(path) < 4096 and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.5)  # the rest of the first bytes has met the limit by now
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            run.stdin.write(b"x")
            run.stdin.close()
            assert run.wait(timeout=20) == 0, run.returncode
        with open(path, "rb") as file:
            said = file.read()
        assert said == b"a" * 4096 + b"late", said[-20:]


def kept_log_limit():
    """A file limit on the kept log costs a part of it, nothing else; the command has its own SIGXFSZ."""
    import resource
    script = "import os, signal\nprint(signal.getsignal(signal.SIGXFSZ), flush=True)\n" \
             "os.write(2, b'a' * 9000 + b'\\n')\nos._exit(5)"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(GUARD + ["--keep-logs", folder + "/kept", "--", "sh", "-c", "exec \"$0\" -c \"$1\"",
                                      sys.executable, script], capture_output=True, timeout=20, check=False,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        assert run.returncode == 5 and b"not all of its stderr could be kept" in run.stderr, run
        assert run.stderr.startswith(b"a" * 9000 + b"\n"), run.stderr[:100]
        assert os.path.getsize(folder + "/kept/stderr.txt") == 4096


def low_descriptors():
    """With standard streams closed the kept log takes none of their numbers."""
    for closed in ("<&- >&- 2>&-", "2>&-"):
        with tempfile.TemporaryDirectory() as folder:
            words = " ".join(f"'{word}'" for word in GUARD + ["--keep-logs", folder + "/kept", "--", "sh", "-c"])
            script = f"{words} 'ls -l /proc/self/fd >{folder}/fds; echo said >&2; exit 5' {closed}"
            run = subprocess.run(["sh", "-c", script], stdin=subprocess.PIPE, timeout=20, check=False)
            assert run.returncode == 5, run
            with open(folder + "/kept/stderr.txt", "rb") as file:
                said = file.read()
            assert said == b"said\n", (closed, said)
            with open(folder + "/fds", encoding="utf-8") as file:
                seen = file.read()
            assert "/dev/null" not in seen, seen


def stalled_reader():
    """A signal to us alone reaches the program although nobody takes what it says."""
    script = "import os, signal, sys, time\n" \
             "def note(*_): print('got', flush=True); os._exit(6)\n" \
             "signal.signal(signal.SIGTERM, note)\nprint('up', flush=True)\nb = b'x' * 4096\n" \
             "while True: os.write(2, b)"
    run = subprocess.Popen(GUARD + ["--quiet", "--", sys.executable, "-c", script], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    assert run.stdout.readline() == b"up\n"
    time.sleep(1)
    began = time.monotonic()
    run.send_signal(signal.SIGTERM)
    # Both pipes are full by now: its last word is on stdout.
    assert select.select([run.stdout], [], [], 5)[0], "not forwarded"
    took = time.monotonic() - began
    assert run.stdout.readline() == b"got\n" and took < 1, took
    run.stderr.read()
    assert run.wait(timeout=20) == 6, run.returncode
    print(f"{1000 * took:.0f} ms")


def inherited_sigchld():
    """Blocked or ignored where we were started: the command has it so, and we still see its end."""
    script = "import signal\nprint(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, " \
             "signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)\nraise SystemExit(5)"

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])

    def ignored():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    for prepare, truth in ((blocked, b"False True\n"), (ignored, b"True False\n"), (None, b"False False\n")):
        run = subprocess.run(GUARD + ["--quiet", "--", sys.executable, "-c", script], stdout=subprocess.PIPE,
                             timeout=20, preexec_fn=prepare, check=False)
        assert run.returncode == 5 and run.stdout == truth, (truth, run)


def other_signals():
    """Timers', limits' and real-time signals too; one that came before by the exec's timer as well."""
    numbers = [signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGXCPU,
               signal.SIGURG, signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX]
    script = "import signal, sys, time\ncount = {}\n" \
             "def note(n, _): count[n] = count.get(n, 0) + 1\n" \
             f"for n in {[int(n) for n in numbers]}: signal.signal(n, note)\n" \
             "print('up', flush=True)\nend = time.time() + 1.5\n" \
             "while time.time() < end: time.sleep(0.05)\n" \
             "print(sorted(count.items()), flush=True)"
    truth = str(sorted((int(n), 1) for n in numbers)).encode() + b"\n"
    for to_group in (False, True):
        run = subprocess.Popen(GUARD + ["--quiet", "--", sys.executable, "-c", script], stdout=subprocess.PIPE,
                               start_new_session=True)
        assert run.stdout.readline() == b"up\n"
        for number in numbers:
            (os.killpg if to_group else os.kill)(run.pid, number)
        out = run.communicate(timeout=20)[0]
        assert out == truth and run.returncode == 0, (to_group, out, run.returncode)
    run = subprocess.run(GUARD + ["--quiet", "--", "sleep", "20"], timeout=15, check=False,
                         preexec_fn=lambda: signal.alarm(1))
    assert run.returncode == 128 + signal.SIGALRM, run.returncode


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


SITUATIONS = (
    # name, with llvmpipe, arguments, what must be said of it
    ("no-gpu", False, [], b"CPU ONLY MACHINE|SILENT CPU FALLBACK"),
    ("device-none", True, ["--device", "none"], b"CPU ONLY MACHINE|SILENT CPU FALLBACK"),
    ("llvmpipe", True, [], b"SILENT CPU FALLBACK: .*llvmpipe"),
    ("rpc", False, None, b"SILENT CPU FALLBACK|CPU ONLY MACHINE|NO PLACEMENT EVIDENCE: .*RPC"),
    ("llvmpipe-ffn-on-cpu", True, ["-ngl", "99", "-nkvo", "-ot", "ffn_.*=CPU"], b"SILENT CPU FALLBACK"),
)
FIGURES = re.compile(rb"[0-9.]+| +")


def without_figures(log):
    return [FIGURES.sub(b"#", line) for line in log.split(b"\n") if not line.startswith(b"picchio:")]


def environment(llvmpipe):
    out = dict(os.environ)
    out["VK_DRIVER_FILES"] = f"{RIG}/lvp.json" if llvmpipe else f"{RIG}/none/none.json"
    if llvmpipe:
        out["GGML_VK_VISIBLE_DEVICES"] = "0"
        out["MESA_SHADER_CACHE_DIR"] = f"{RIG}/shader-cache"
    return out


def served(command, env, ask):
    """stderr of a server that answered and was ended, with the moments its lines arrived."""
    run = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.set_blocking(run.stderr.fileno(), False)
    have, arrivals, ready = b"", [], None
    end = time.monotonic() + 60
    stop_at = None
    while time.monotonic() < end:
        if select.select([run.stderr], [], [], 0.02)[0]:
            got = run.stderr.read(65536)
            if got == b"":
                break
            have += got or b""
            while len(arrivals) < have.count(b"\n"):
                arrivals.append(time.monotonic())
        if ready is None and b"listening on" in have:
            ready = time.monotonic()
            for path, body in ask[1]:
                request = urllib.request.Request(f"http://127.0.0.1:{ask[0]}{path}", body,
                                                 {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=60).read()
            stop_at = time.monotonic() + 1
        if stop_at and time.monotonic() > stop_at:
            run.send_signal(signal.SIGTERM)
            stop_at = end + 1
    out = run.stdout.read()
    return have, out, run.wait(timeout=20), arrivals


def situations():
    """The five of the design at the engine's default verbosity: told truthfully within a second of the load."""
    need(RIG, "rig")
    model = f"{RIG}/models/Tiny-Q4_K_M.gguf"
    worst = 0.0
    for name, llvmpipe, arguments, truth in SITUATIONS:
        env, worker = environment(llvmpipe), None
        if arguments is None:
            rpc = free_port()
            worker = subprocess.Popen([f"{RIG}/bin/ggml-rpc-server", "-H", "127.0.0.1", "-p", str(rpc)], env=env,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
            arguments = ["--rpc", f"127.0.0.1:{rpc}"]
        port = free_port()
        command = [f"{RIG}/bin/llama-server", "-m", model, "-c", "512", "--port", str(port)] + arguments
        ask = (port, [("/completion", b'{"prompt":"hello you","n_predict":4}')])
        plain = served(command, env, ask)
        through = served([PICCHIO, "guard", "--"] + command, env, ask)
        if worker:
            worker.terminate()
            worker.wait()
        assert plain[1] == through[1] and plain[2] == through[2] == 0, (name, plain[2], through[2])
        assert without_figures(plain[0]) == without_figures(through[0]), (name, plain[0], through[0])
        lines = through[0].split(b"\n")
        loaded = next(i for i, line in enumerate(lines) if b"model loaded" in line)
        said = [i for i, line in enumerate(lines) if re.match(rb"picchio: (" + truth + rb")", line)]
        assert said and b"HEALTHY" not in b"".join(l for l in lines if l.startswith(b"picchio")), (name, lines)
        delay = max(0.0, through[3][said[0]] - through[3][loaded])
        assert delay < 1, (name, delay)
        worst = max(worst, delay)
        print(f"{name}: said {1000 * delay:.0f} ms after 'model loaded'")
    print(f"worst {1000 * worst:.0f} ms")


def same_terminal():
    """On a terminal the engine colours its log; with us as without."""
    need(RIG, "rig")
    env = environment(False)

    def coloured(command):
        master, slave = pty.openpty()
        tty.setraw(slave)
        run = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=slave, stdin=subprocess.DEVNULL)
        os.close(slave)
        have = b""
        while True:
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            have += got
        run.wait()
        os.close(master)
        return have

    command = [f"{RIG}/bin/llama-completion", "-m", f"{RIG}/models/Tiny-Q4_K_M.gguf", "-p", "hello", "-n", "4", "-c",
               "512", "--seed", "7", "-no-cnv"]
    for _ in range(8):
        plain = coloured(command)
        through = coloured([PICCHIO, "guard", "--"] + command)
        # The engine may end before its log does: what both said is compared, and it is most of it.
        lines = without_figures(plain), without_figures(through)
        common = min(len(lines[0]), len(lines[1])) - 1
        assert common > 10 and lines[0][:common] == lines[1][:common], (plain, through)
        if b"graph reallocs" in plain and b"graph reallocs" in through:
            break
    assert b"\x1b[32mI " in through


def sanitized():
    with open(GUARD[0], "rb") as program:
        return b"__asan_init" in program.read()


def flood():
    """A log without end is handed on whole, and memory stays flat."""
    block = 64 << 20
    script = f"import os\nb = b'0.00.001.000 I load_tensors: x' * 30 + b'\\n'\nb *= {block} // len(b)\n" \
             "while b: b = b[os.write(2, b):]"
    run = subprocess.Popen(GUARD + ["--", sys.executable, "-c", script], stderr=subprocess.PIPE)
    size, most = 0, 0
    while got := run.stderr.read1(1 << 20):
        size += len(got)
        with open(f"/proc/{run.pid}/status", encoding="ascii") as status:
            rss = re.search(r"VmHWM:\s+(\d+)", status.read())
            most = max(most, int(rss[1]) if rss else 0)
    assert run.wait() == 0 and size >= block * 0.98, size
    # A build with a sanitizer keeps shadow memory: its size says nothing.
    assert most < 200 << 10 or sanitized(), most
    print(f"peak {most >> 10} MiB")


globals()[CASE.replace("-", "_")]()
print("ok")

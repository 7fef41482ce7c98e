#!/usr/bin/env python3
"""The stand-in against what real servers were recorded saying, and each fault against a server without it."""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
import faults  # noqa: E402
from harness import CPU, HERE, LLAMA_SERVER, LLVMPIPE, PROMPT, Server, generate, recorded, shape  # noqa: E402


class OllamaAsRecorded(unittest.TestCase):
    def test_answers_have_the_recorded_shape(self):
        with Server("ollama") as made:
            for name, path, body in (("version", "/api/version", None), ("ps-empty", "/api/ps", None),
                                     ("unload-of-nothing", "/api/generate", {"model": "tiny", "keep_alive": 0}),
                                     ("load", "/api/generate", {"model": "tiny"}), ("ps-loaded", "/api/ps", None),
                                     ("unload", "/api/generate", {"model": "tiny", "keep_alive": 0}),
                                     ("tags", "/api/tags", None), ("show", "/api/show", {"model": "tiny"}),
                                     ("generate-not-streamed", "/api/generate", generate(stream=False)),
                                     ("error-unknown-model", "/api/generate", generate(model="no-such-model"))):
                status, body_recorded = recorded(LLVMPIPE if name == "show" else CPU, name)
                got = made.raw(path, body)
                self.assertEqual(got[0], status, name)
                self.assertEqual(shape(json.loads(got[2])), shape(json.loads(body_recorded)), name)

    def test_errors_are_the_recorded_ones(self):
        with Server("ollama") as made:
            short = {"num_ctx": 40}
            for name, path, body in (("error-option-of-wrong-type", "/api/generate", generate(options={"num_ctx": ""})),
                                     ("error-raw-with-system", "/api/generate", generate(system="Be brief.")),
                                     ("error-bad-json", "/api/generate", b'{"model": '),
                                     ("error-empty-body", "/api/generate", b""),
                                     ("generate-no-shift", "/api/generate", generate(shift=False, options=short)),
                                     ("error-show-unknown-model", "/api/show", {"model": "no-such-model"}),
                                     ("error-no-such-path", "/api/no-such-path", None),
                                     ("error-wrong-method", "/api/generate", None)):
                status, body_recorded = recorded(CPU, name)
                got = made.raw(path, body)
                self.assertEqual((got[0], got[2]), (status, body_recorded), name)
            status, text = recorded(CPU, "error-thinking-not-supported")
            got = made.raw("/api/generate", generate(think=True))
            self.assertEqual((got[0], got[2]), (status, text.replace(b"gemma", b"tiny")))
            status, text = recorded(CPU, "generate-truncate-false")
            got = made.raw("/api/generate", generate(truncate=False, options=short))
            self.assertEqual(got[0], status)
            inner = [shape(json.loads(json.loads(t)["error"])) for t in (got[2], text)]
            self.assertEqual(inner[0], inner[1])

    def test_stream_is_like_the_recorded_one(self):
        with Server("ollama") as made:
            status, headers, body = made.raw("/api/generate", generate())
        lines = [json.loads(line) for line in body.splitlines()]
        wanted = [json.loads(line) for line in recorded(CPU, "generate-cold")[1].splitlines()]
        self.assertEqual((status, headers["Content-Type"]), (200, "application/x-ndjson"))
        self.assertEqual(list(lines[0]), list(wanted[0]))
        self.assertEqual(list(lines[-1]), list(wanted[-1]))
        self.assertEqual((len(lines), lines[-1]["eval_count"]), (13, 12))

    def test_thinking(self):
        wanted = [json.loads(line) for line in recorded(CPU, "thinker-generate")[1].splitlines()]
        with Server("ollama", "--thinking") as made:
            for body, thinks in ((generate(raw=False), True), (generate(raw=False, think=False), False),
                                 (generate(), False)):
                lines = made.lines("/api/generate", body)
                self.assertEqual([bool(line.get("thinking")) for line in lines[:-1]], [thinks] * 12)
                self.assertEqual([bool(line["response"]) for line in lines[:-1]], [not thinks] * 12)
                self.assertEqual("context" in lines[-1], not body["raw"])
                if thinks:
                    self.assertEqual(list(lines[0]), list(wanted[0]))
                    self.assertEqual(list(lines[-1]), list(wanted[-1]))
            self.assertIn("thinking", made.post("/api/show", {"model": "tiny"})["capabilities"])

    def test_durations_are_those_of_the_stream(self):
        with Server("ollama", "--prefill-ms", "150", "--rate", "100", "--load-ms", "120", fast=False) as made:
            connection = http.client.HTTPConnection("127.0.0.1", made.port)
            began = time.monotonic()
            connection.request("POST", "/api/generate", json.dumps(generate(options={"num_predict": 20})))
            answer, at, lines = connection.getresponse(), [], []
            while line := answer.readline():
                at.append(1e3 * (time.monotonic() - began))
                lines.append(json.loads(line))
            connection.close()
        told = {k: v / 1e6 for k, v in lines[-1].items() if k.endswith("_duration")}
        self.assertGreaterEqual(told["eval_duration"], 190)
        self.assertAlmostEqual(at[-1] - at[0], told["eval_duration"], delta=50)
        self.assertAlmostEqual(at[0], told["load_duration"] + told["prompt_eval_duration"], delta=50)
        self.assertGreater(at[0], 265)

    def test_unload_and_reload(self):
        with Server("ollama", "--unload-ms", "300", "--load-ms", "200", fast=False) as made:
            cold = made.lines("/api/generate", generate())[-1]
            warm = made.lines("/api/generate", generate())[-1]
            other = made.lines("/api/generate", generate(options={"num_ctx": 2048}))[-1]
            self.assertEqual(made.get("/api/ps")["models"][0]["context_length"], 2048)
            self.assertEqual(made.post("/api/generate", {"model": "tiny", "keep_alive": 0})["done_reason"], "unload")
            self.assertEqual(len(made.get("/api/ps")["models"]), 1)
            time.sleep(0.35)
            self.assertEqual(made.get("/api/ps"), {"models": []})
        self.assertGreater(cold["load_duration"], 190e6)
        self.assertLess(warm["load_duration"], 100e6)
        self.assertGreater(other["load_duration"], 190e6)

    def test_cached_prompt_by_version(self):
        for version, whole, has_cached in (("0.24.0", True, False), ("0.30.0", False, False), ("0.31.2", True, False),
                                           ("0.33.2", True, False), ("0.33.3", True, True)):
            with Server("ollama", "--version", version, "--prefill-ms", "200", fast=False) as made:
                first = made.lines("/api/generate", generate())[-1]
                second = made.lines("/api/generate", generate())[-1]
            self.assertEqual(second["prompt_eval_count"], first["prompt_eval_count"] if whole else 4, version)
            self.assertLess(second["prompt_eval_duration"], first["prompt_eval_duration"] / 3, version)
            self.assertEqual("prompt_eval_cached_count" in second, has_cached, version)
            if has_cached:
                self.assertEqual(first["prompt_eval_cached_count"], 0)
                self.assertEqual(second["prompt_eval_cached_count"], first["prompt_eval_count"] - 4)

    def test_truncation(self):
        """Half the window behind what is kept: the recorded run made 131 of 750 tokens in a window of 256."""
        with tempfile.NamedTemporaryFile() as log, Server("ollama", "--log", log.name) as made:
            last = made.lines("/api/generate", generate(prompt=PROMPT * 40, options={"num_ctx": 256}))[-1]
            self.assertEqual(last["prompt_eval_count"], 131)
            self.assertIn('msg="truncating input prompt" limit=131 prompt=', Path(log.name).read_text())

    def test_log_is_the_recorded_one_with_new_times(self):
        with tempfile.NamedTemporaryFile() as log, Server("ollama", "--log", log.name) as made:
            before = Path(log.name).read_text()
            self.assertIn("inference compute", before)
            made.raw("/api/generate", generate())
            text = Path(log.name).read_text()[len(before):]
            self.assertEqual(os.readlink(f"/proc/{made.process.pid}/fd/2"), log.name)
        self.assertIn("load_tensors: offloaded 19/19 layers to GPU\n", text)
        self.assertIn("load_tensors:          CPU model buffer size =   222.51 MiB\n", text)
        self.assertIn(f"time={time.strftime('%Y-%m-%dT%H', time.gmtime())}", text)
        self.assertRegex(text, r"prompt eval time = +\d+\.\d+ ms / +\d+ tokens")

    def test_placements(self):
        for placement, line, share in (("llvmpipe", "Vulkan0 model buffer size =     3.92 MiB", 1),
                                       ("cuda", "using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0)", 1),
                                       ("partial", "offloaded 4/9 layers to GPU", 0.5)):
            with tempfile.NamedTemporaryFile() as log, \
                    Server("ollama", "--log", log.name, "--placement", placement) as made:
                made.raw("/api/generate", generate())
                self.assertIn(line, Path(log.name).read_text())
                row = made.get("/api/ps")["models"][0]
                self.assertAlmostEqual(row["size_vram"] / row["size"], share, places=5)

    def test_runner(self):
        with Server("ollama", "--runner", "--blob", "/models/blobs/sha256-00") as made:
            self.assertEqual(self.runners(made), [])
            made.raw("/api/generate", generate())
            (argv,) = self.runners(made)
            self.assertEqual(argv[argv.index("--model") + 1], "/models/blobs/sha256-00")
            port = int(argv[argv.index("--port") + 1])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
                self.assertEqual(json.load(answer), {"status": "ok"})
            made.post("/api/generate", {"model": "tiny", "keep_alive": 0})
            until = time.monotonic() + 5
            while self.runners(made) and time.monotonic() < until:
                time.sleep(0.02)
            self.assertEqual(self.runners(made), [])

    @staticmethod
    def runners(made):
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == made.process.pid:
                    found.append((entry / "cmdline").read_text().split("\0"))
            except (OSError, IndexError):
                continue
        return [argv for argv in found if "--model" in argv]


class OtherKinds(unittest.TestCase):
    def check_openai(self, made, **more):
        body = {"model": "tiny", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 8, "stream": True,
                "stream_options": {"include_usage": True}} | more
        values = [value for name, value in made.events("/v1/chat/completions", body) if name != ":"]
        self.assertEqual(values[-1], "[DONE]")
        text = [v["choices"][0]["delta"].get("content") for v in values[:-1] if v["choices"]]
        self.assertEqual(len([t for t in text if t]), 8)
        return values[-2]["usage"]

    def test_llama_server(self):
        with Server("llama-server", "--metrics") as made:
            for name, path in (("health", "/health"), ("props", "/props"), ("slots", "/slots"), ("models", "/v1/models"),
                               ("root", "/"), ("error-no-such-path", "/no/such/path")):
                self.check_recorded(made, name, path)
            for name, body in (("completion-stream", {"prompt": PROMPT, "stream": True, "cache_prompt": False}),
                               ("chat-stream", {"messages": [{"role": "user", "content": PROMPT}], "stream": True,
                                                "stream_options": {"include_usage": True}})):
                path = "/completion" if name.startswith("completion") else "/v1/chat/completions"
                mine = [value for _, value in made.events(path, body)]
                real = [json.loads(line[6:]) for line in recorded(LLAMA_SERVER, name)[1].decode().split("\n")
                        if line.startswith("data: {")]
                real = [value for value in real if "prompt_progress" not in value]
                mine = [value for value in mine if value != "[DONE]"]
                self.assertEqual(shape(mine[0]), shape(real[0]), name)
                last = shape(mine[-1]) | {k: None for k in ("generation_settings", "prompt", "has_new_line")}
                self.assertEqual(set(last) - set(real[-1]), set() if "prompt" in real[-1] else
                                 {"generation_settings", "prompt", "has_new_line"}, name)
                self.assertEqual(shape(mine[-1]["timings"]), shape(real[-1]["timings"]), name)
            real, mine = recorded(LLAMA_SERVER, "metrics")[1], made.raw("/metrics")[2]
            names = [[line.split()[0] for line in text.decode().splitlines() if line[0] != "#"] for text in (real, mine)]
            self.assertEqual(names[1], names[0])
        with Server("llama-server", "--metrics") as made:
            values = [v for _, v in made.events("/completion", {"prompt": PROMPT, "n_predict": 8, "stream": True})]
            last = values[-1]["timings"]
            self.assertEqual((last["cache_n"], last["predicted_n"], len(values)), (0, 8, 9))
            self.assertAlmostEqual(last["prompt_per_second"], 1e3 * last["prompt_n"] / last["prompt_ms"], places=3)
            again = made.post("/completion", {"prompt": PROMPT, "n_predict": 8})
            self.assertEqual(again["timings"]["prompt_n"], 4)
            uncached = made.post("/completion", {"prompt": PROMPT, "n_predict": 8, "cache_prompt": False})
            self.assertEqual(uncached["timings"]["cache_n"], 0)
            self.assertEqual(self.check_openai(made)["completion_tokens"], 8)
            self.assertIn("llamacpp:tokens_predicted_total 32\n", made.raw("/metrics")[2].decode())
            status, headers, body = made.raw("/nowhere")
            self.assertEqual((status, headers["Server"]), (404, "llama.cpp"))
            self.assertEqual(json.loads(body)["error"]["type"], "not_found_error")
            self.assertEqual(made.raw("/completion", {"prompt": PROMPT * 400})[0], 400)

    def check_recorded(self, made, name, path, body=None):
        status, real = recorded(LLAMA_SERVER, name)
        got = made.raw(path, body)
        self.assertEqual((got[0], got[1]["Server"]), (status, "llama.cpp"), name)
        self.assertEqual(shape(json.loads(got[2])), shape(json.loads(real)), name)
        if status != 200:
            self.assertEqual(json.loads(got[2]), json.loads(real), name)

    def test_llama_server_modes(self):
        with Server("llama-server", "--api-key", "k") as made:
            self.check_recorded(made, "key-health", "/health")
            self.check_recorded(made, "key-props", "/props")
            self.check_recorded(made, "key-models", "/v1/models")
            self.assertEqual(made.raw("/props", None, Authorization="Bearer k")[0], 200)
        with Server("llama-server", "--fault", "503-loading-then-ready", "--ready-ms", "60000") as made:
            for name, path in (("health", "/health"), ("props", "/props"), ("root", "/")):
                self.check_recorded(made, f"loading-{name}", path)
        with Server("llama-server") as made:
            self.check_recorded(made, "metrics-off", "/metrics")
        with Server("llama-server", "--drafts", "60", "--slots", "2", "--busy-slots", "1") as made:
            timings = made.post("/completion", {"prompt": PROMPT, "n_predict": 10})["timings"]
            self.assertEqual((timings["draft_n"], timings["draft_n_accepted"]), (10, 6))
            self.assertEqual([s["is_processing"] for s in made.get("/slots")], [True, False])

    def test_llama_server_as_router(self):
        def states():
            return [row["status"]["value"] for row in made.get("/models")["data"]]
        with Server("llama-server", "--router", "--fault", "two-models", "--model", "a", "--load-ms", "300",
                    "--unload-ms", "300", fast=False) as made:
            self.check_recorded(made, "router-props", "/props")
            self.check_recorded(made, "router-models", "/models")
            self.check_recorded(made, "router-slots", "/slots")
            self.check_recorded(made, "router-unknown", "/completion", {"prompt": "x", "model": "nowhere"})
            self.check_recorded(made, "router-load-unknown", "/models/load", {"model": "nowhere"})
            self.assertEqual(states(), ["unloaded"] * 2)
            self.check_recorded(made, "router-load", "/models/load", {"model": "a"})
            self.assertEqual(states(), ["loading", "unloaded"])
            self.check_recorded(made, "router-props-loaded", "/props?model=a")
            self.assertEqual(states(), ["loaded", "unloaded"])
            self.check_recorded(made, "router-unload", "/models/unload", {"model": "a"})
            self.assertEqual(states(), ["loaded", "unloaded"])
            time.sleep(0.35)
            self.assertEqual(states(), ["unloaded"] * 2)

    def test_lm_studio(self):
        with Server("lm-studio") as made:
            self.assertEqual(made.get("/lmstudio-greeting"), {"lmstudio": True})
            self.assertIn("Unexpected endpoint", made.get("/no/such/path")["error"])
            self.assertEqual(made.get("/api/v0/models")["data"][0]["state"], "not-loaded")
            body = {"model": "tiny", "input": PROMPT, "stream": True, "max_output_tokens": 8}
            events = made.events("/api/v1/chat", body)
            names = [name for name, _ in events]
            self.assertEqual([names[0], names[-1]], ["chat.start", "chat.end"])
            self.assertLess(names.index("model_load.end"), names.index("prompt_processing.start"))
            self.assertEqual(names.count("message.delta"), 8)
            self.assertTrue(all(value["type"] == name for name, value in events))
            stats = events[-1][1]["result"]["stats"]
            self.assertEqual(stats["total_output_tokens"], 8)
            self.assertIn("model_load_time_seconds", stats)
            self.assertNotIn("model_load.start", [name for name, _ in made.events("/api/v1/chat", body)])
            made.post("/api/v1/models/unload", {"instance_id": "tiny"})
            self.assertEqual(made.get("/api/v1/models")["models"][0]["loaded_instances"], [])
            v0 = made.post("/api/v0/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 8})
            self.assertGreater(v0["stats"]["tokens_per_second"], 0)
            self.assertEqual(self.check_openai(made)["completion_tokens"], 8)

    def test_vllm_counters_move(self):
        def scrape():
            rows = made.raw("/metrics")[2].decode().splitlines()
            return {r.partition("{")[0]: float(r.rpartition(" ")[2]) for r in rows if r and not r.startswith("#")}
        with Server("vllm") as made:
            self.assertIn("version", made.get("/version"))
            before = scrape()
            self.assertEqual(self.check_openai(made)["completion_tokens"], 8)
            # The last piece of an answer may be read before its request is counted.
            for _ in range(50):
                after = scrape()
                if after["vllm:generation_tokens_total"] > before["vllm:generation_tokens_total"]:
                    break
                time.sleep(0.1)
        moved = {k.removeprefix("vllm:"): after[k] - before[k] for k in after}
        self.assertEqual(moved["generation_tokens_total"], 8)
        self.assertGreater(moved["request_prefill_time_seconds_sum"], 0.015)
        self.assertEqual(moved["prefix_cache_hits_total"], 0)

    def test_koboldcpp(self):
        with Server("koboldcpp") as made:
            self.assertEqual(made.get("/api/extra/version")["result"], "KoboldCpp")
            before = made.get("/api/extra/perf")["total_gens"]
            events = made.events("/api/extra/generate/stream", {"prompt": PROMPT, "max_length": 8})
            self.assertEqual([name for name, _ in events], ["message"] * 9)
            perf = made.get("/api/extra/perf")
            self.assertEqual((perf["total_gens"], perf["last_token_count"]), (before + 1, 8))
            seconds = perf["last_process"] * perf["last_input_count"] / 1e3
            self.assertAlmostEqual(seconds, perf["last_process_time"], places=6)

    def test_the_rest(self):
        with Server("tabbyapi") as made:
            self.assertEqual(made.get("/.well-known/serviceinfo")["software"]["name"], "TabbyAPI")
            self.assertGreater(self.check_openai(made)["prompt_time"], 0)
        with Server("tabbyapi", "--fault", "zero-durations") as made:
            self.assertEqual(self.check_openai(made)["completion_tokens_per_sec"], "Indeterminate")
        with Server("mlx") as made:
            body = {"messages": [{"role": "user", "content": PROMPT}], "stream": True, "max_tokens": 3}
            comments = [v for n, v in made.events("/v1/chat/completions", body) if n == ":"]
            self.assertRegex(comments[-1], r"^: keepalive \d+/\d+$")
        with Server("sglang") as made:
            self.assertTrue(made.get("/get_model_info")["is_generation"])
            request = {"text": PROMPT, "sampling_params": {"max_new_tokens": 5}}
            first = made.post("/generate", request)["meta_info"]
            second = made.post("/generate", request)["meta_info"]
            self.assertEqual((first["cached_tokens"], first["completion_tokens"]), (0, 5))
            self.assertGreater(second["cached_tokens"], 10)
            self.assertEqual(made.raw("/flush_cache", b"")[0], 200)
            self.assertEqual(made.post("/generate", request)["meta_info"]["cached_tokens"], 0)
        with Server("text-generation-webui") as made:
            self.assertEqual(made.get("/v1/internal/model/info")["model_name"], "tiny")
            self.check_openai(made)
        with Server("openai", "--prefix", "/llm") as made:
            self.assertEqual(made.get("/llm/v1/models")["data"][0]["id"], "tiny")
            self.assertEqual(made.raw("/v1/models")[0], 404)
        with Server("openai", "--thinking", "--fault", "no-usage") as made:
            body = {"messages": [{"role": "user", "content": PROMPT}], "stream": True, "max_tokens": 4,
                    "stream_options": {"include_usage": True}}
            values = [v for _, v in made.events("/v1/chat/completions", body)][:-1]
            self.assertFalse(any("usage" in v for v in values))
            self.assertEqual(sum(bool(v["choices"][0]["delta"].get("reasoning_content")) for v in values), 4)


class Faults(unittest.TestCase):
    def test_refuse_hang_reset(self):
        with Server("ollama", "--fault", "refuse") as made, self.assertRaises(ConnectionRefusedError):
            made.raw("/")
        with Server("ollama", "--fault", "hang-connect") as made, self.assertRaises(socket.timeout):
            made.raw("/", timeout=0.7)
        with Server("ollama", "--fault", "reset") as made, \
                self.assertRaises((ConnectionError, http.client.BadStatusLine)):
            made.raw("/")

    def test_no_answer_in_time(self):
        with Server("ollama", "--fault", "stall-before-first-byte@/api/ps") as made:
            self.assertEqual(made.raw("/")[0], 200)
            with self.assertRaises(socket.timeout):
                made.raw("/api/ps", timeout=0.5)
        with Server("ollama", "--fault", "drip") as made, socket.create_connection(("127.0.0.1", made.port)) as client:
            client.sendall(b"GET /api/ps HTTP/1.1\r\nHost: x\r\n\r\n")
            client.settimeout(2.6)
            got, began = b"", time.monotonic()
            while time.monotonic() - began < 2.2:
                got += client.recv(64)
            self.assertLessEqual(len(got), 4)
            self.assertGreaterEqual(len(got), 2)

    def test_too_much(self):
        with Server("ollama", "--fault", "giant-line@generate") as made:
            got = made.raw("/api/generate", generate(), limit=20 << 20)
            self.assertEqual((len(got[2]), b"\n" in got[2], got[1]["Content-Length"]), (20 << 20, False, str(1 << 30)))
        with Server("ollama", "--fault", "endless-body@/api/tags") as made:
            self.assertEqual(len(made.raw("/api/tags", limit=8 << 20)[2]), 8 << 20)
        with Server("ollama", "--fault", "endless-stream", "--rate", "1e9") as made:
            got = made.raw("/api/generate", generate(), limit=1 << 20)[2]
            self.assertNotIn(b'"done":true', got)
        with Server("ollama", "--fault", "giant-header") as made, self.assertRaises(http.client.LineTooLong):
            made.raw("/")

    def test_answers(self):
        for fault, status, kind, text in (
                ("401", 401, "ollama", b"signin_url"), ("403", 403, "ollama", b"disabled"),
                ("404", 404, "ollama", b"not found"), ("500", 500, "ollama", b'{"error":'),
                ("503-busy", 503, "ollama", b"busy"), ("401", 401, "vllm", b"Unauthorized"),
                ("500", 500, "llama-server", b'"type":"server_error"'), ("503-busy", 503, "koboldcpp", b"detail"),
                ("html", 200, "ollama", b"<html>"), ("empty-body", 200, "ollama", b""),
                ("500", 500, "lm-studio", b"error")):
            with Server(kind, "--fault", fault) as made:
                got = made.raw("/v1/models")
                self.assertEqual(got[0], status, fault)
                self.assertIn(text, got[2], fault)
                self.assertEqual(got[2] == b"", fault == "empty-body")
        with Server("llama-server", "--fault", "503-loading-then-ready", "--ready-ms", "700") as made:
            first = made.raw("/health")
            self.assertEqual((first[0], json.loads(first[2])["error"]["message"]), (503, "Loading model"))
            self.assertEqual(first[1]["Server"], "llama.cpp")
            time.sleep(0.8)
            self.assertEqual(made.raw("/health")[0], 200)
        with Server("ollama", "--fault", "not-http") as made, self.assertRaises(http.client.BadStatusLine):
            made.raw("/")

    def test_redirect_leads_to_another_host_that_notes_who_comes(self):
        with Server("ollama", "--fault", "redirect@/api/version") as made:
            status, headers, _ = made.raw("/api/version")
            self.assertEqual((status, headers["Location"]), (307, f"http://127.0.0.2:{made.port}/api/version"))
            self.assertFalse(any(r["elsewhere"] for r in made.asked()))
            urllib.request.urlopen(f"http://127.0.0.2:{made.port}/").close()
            self.assertTrue(made.asked()[-1]["elsewhere"])

    def test_values(self):
        with Server("ollama", "--fault", "invalid-utf8") as made, self.assertRaises(UnicodeDecodeError):
            made.raw("/api/tags")[2].decode()
        with Server("ollama", "--fault", "escapes") as made:
            self.assertIn("\x1b[2J", made.get("/api/version")["version"])
        for twist in faults.TWISTS:
            with Server("ollama", "--fault", "wrong-types@/api/ps", "--twist", twist) as made:
                made.raw("/api/generate", generate())
                body = made.raw("/api/ps")[2]
                mine = json.loads(body)["models"][0]
                good = json.loads(recorded(CPU, "ps-loaded")[1])["models"][0]
                same = [k for k in good if type(mine[k]) is type(good[k]) and mine[k] not in (-1, 10 ** 400 - 1)]
                self.assertLessEqual(set(same) - {"details"}, {"name", "model", "digest", "expires_at"}, twist)
                if twist == "huge":
                    self.assertIn(b'"size_vram":1e999', body)

    def test_streams_that_break(self):
        with Server("ollama", "--fault", "stall-mid-stream") as made, self.assertRaises(socket.timeout):
            made.raw("/api/generate", generate(), timeout=1)
        for fault in ("cut-mid-stream", "reset-mid-stream"):
            with Server("ollama", "--fault", fault) as made, \
                    self.assertRaises((http.client.IncompleteRead, ConnectionResetError)):
                made.raw("/api/generate", generate())
        with Server("ollama", "--fault", "error-in-stream") as made:
            lines = made.lines("/api/generate", generate())
            recorded_last = json.loads(recorded(CPU, "generate-runner-killed")[1].splitlines()[-1])
            self.assertEqual((len(lines), lines[-1]), (5, recorded_last))
        with Server("ollama", "--fault", "error-at-once") as made:
            self.assertEqual([list(line) for line in made.lines("/api/generate", generate())], [["error"]])
        with Server("ollama", "--fault", "no-done") as made:
            self.assertEqual([line["done"] for line in made.lines("/api/generate", generate())], [False] * 12)
        with Server("openai", "--fault", "error-in-stream") as made:
            events = made.events("/v1/completions", {"prompt": PROMPT, "stream": True, "max_tokens": 9})
            self.assertEqual(list(events[-1][1]), ["error"])

    def test_figures(self):
        def last(*words):
            with Server("ollama", *words) as made:
                lines = made.lines("/api/generate", generate())
                return lines[-1] | {"lines": len(lines)}
        fewer = last("--fault", "fewer-tokens")
        self.assertEqual((fewer["eval_count"], fewer["done_reason"]), (4, "stop"))
        self.assertEqual(last("--tokens", "5")["eval_count"], 5)
        self.assertEqual(last("--fault", "no-tokens")["lines"], 1)
        self.assertEqual(last("--fault", "zero-durations")["eval_duration"], 0)
        self.assertNotIn("eval_count", last("--fault", "no-durations"))
        silent = last("--fault", "silent-tokens")
        self.assertEqual((silent["eval_count"], silent["lines"]), (12, 10))
        several = last("--fault", "several-a-chunk")
        self.assertEqual((several["eval_count"], several["lines"]), (12, 4))
        plain, cached = last("--prefill-ms", "200"), last("--prefill-ms", "200", "--fault", "cached-prompt")
        self.assertEqual(cached["prompt_eval_count"], plain["prompt_eval_count"])
        self.assertLess(cached["prompt_eval_duration"], plain["prompt_eval_duration"] / 3)
        with Server("ollama", "--fault", "truncated") as made:
            self.assertEqual(made.lines("/api/generate", generate(prompt=PROMPT * 20))[-1]["prompt_eval_count"], 131)

    def test_what_the_server_says_of_its_models(self):
        def row(*words):
            with Server("ollama", *words) as made:
                made.raw("/api/generate", generate())
                return made.get("/api/ps")["models"][0]
        claimed = row("--claim", "40")
        self.assertAlmostEqual(claimed["size_vram"] / claimed["size"], 0.4, places=6)
        claimed = row("--fault", "claims-gpu")
        self.assertTrue(claimed["size"] == claimed["size_vram"] > 0)
        self.assertEqual(row("--fault", "zero-of-zero")["size"], 0)
        with Server("ollama", "--fault", "never-unloads") as made:
            made.raw("/api/generate", generate())
            made.post("/api/generate", {"model": "tiny", "keep_alive": 0})
            time.sleep(0.1)
            self.assertEqual(len(made.get("/api/ps")["models"]), 1)
        with Server("ollama", "--fault", "cloud-model") as made:
            self.assertIn("remote_host", made.get("/api/tags")["models"][0])
            self.assertEqual(made.raw("/api/generate", generate())[0], 401)
        with Server("ollama", "--fault", "no-model-loaded") as made:
            self.assertEqual(made.get("/api/tags"), {"models": []})
        with Server("ollama", "--fault", "two-models") as made:
            self.assertEqual([m["name"] for m in made.get("/api/ps")["models"]], ["other:7b"])
        with Server("openai", "--fault", "strict") as made:
            self.assertEqual(made.raw("/v1/completions", {"prompt": "x", "ignore_eos": True})[0], 400)
        with Server("lm-studio", "--fault", "no-prompt-end") as made:
            names = [n for n, _ in made.events("/api/v1/chat", {"model": "tiny", "input": "x", "stream": True})]
            self.assertNotIn("prompt_processing.end", names)
            self.assertIn("prompt_processing.progress", names)

    def test_every_fault_is_tried_here(self):
        text = Path(__file__).read_text(encoding="utf-8")
        untried = [f for f in faults.ALL if f'"{f}"' not in text and f'"{f}@' not in text]
        self.assertEqual(untried, [])


class Process(unittest.TestCase):
    def test_burns_only_while_it_works(self):
        with Server("openai", "--burn", "--rate", "2", fast=False) as made:
            worker = next(argv for argv in self.children(made))
            self.assertTrue(any(self.ticks(worker, 0.3) < 2 for _ in range(60)))  # once it has started
            connection = http.client.HTTPConnection("127.0.0.1", made.port)
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "stream": True, "max_tokens": 15}))
            self.assertTrue(any(self.ticks(worker, 0.3) >= 5 for _ in range(20)))  # of 30
            connection.close()

    @staticmethod
    def children(made):
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(entry.read_text().rpartition(")")[2].split()[1]) == made.process.pid:
                    yield entry
            except (OSError, IndexError):
                continue

    @staticmethod
    def ticks(stat, seconds):
        def now():
            fields = stat.read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])
        before = now()
        time.sleep(seconds)
        return now() - before

    def test_port_file_and_stop(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "port"
            process = subprocess.Popen([sys.executable, "-B", HERE / "server.py", "--kind", "mlx", "--port-file", file],
                                       stdout=subprocess.DEVNULL)
            try:
                until = time.monotonic() + 30
                while not file.exists() and time.monotonic() < until:
                    time.sleep(0.02)
                socket.create_connection(("127.0.0.1", int(file.read_text()))).close()
                process.terminate()
                self.assertEqual(process.wait(30), 0)
            finally:
                process.kill()
                process.wait()


if __name__ == "__main__":
    unittest.main()

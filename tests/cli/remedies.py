#!/usr/bin/env python3
"""remedies.py CAUSES.json RIG SOURCE

Holds every remedy of the catalogue, and every text of the code that finds causes and broken links,
against the real llama.cpp: a flag must stand in a program's --help, a variable in its help or in the bytes of a backend. What belongs to another program is listed
below with that program's name, so that a new word in a remedy fails here until somebody looked it up."""
import json
import pathlib
import re
import subprocess
import sys

OTHERS = {
    # docker run, podman run
    "--gpus": "docker", "--device": "docker", "--group-add": "docker",
    # koboldcpp.py
    "--gpulayers": "koboldcpp", "--usecpu": "koboldcpp",
    # cmake, pip
    "-DGGML_CUDA": "cmake", "-DGGML_VULKAN": "cmake", "--force-reinstall": "pip",
    # the system's
    "-aG": "usermod", "-m": "setfacl", "-e": "docker", "--import": "mokutil", "--update": "wsl", "--user": "flatpak", "--device=dri": "flatpak",
    "-pl": "nvidia-smi", "-u": "nvidia-modprobe", "-c=0": "nvidia-modprobe",
    # llamafile
    "--gpu": "llamafile",
    # our own
    "--bin": "picchio",
}
OTHER_VARIABLES = {
    # ollama: envconfig/config.go
    "OLLAMA_LLM_LIBRARY", "OLLAMA_VULKAN", "OLLAMA_IGPU_ENABLE", "OLLAMA_NUM_PARALLEL", "OLLAMA_KV_CACHE_TYPE",
    "OLLAMA_CONTEXT_LENGTH", "OLLAMA_DEBUG",
    # the NVIDIA container toolkit
    "NVIDIA_DRIVER_CAPABILITIES",
    # ROCm's, the build's, oneAPI's, ggml-cuda's (there is none in the rig)
    "HSA_OVERRIDE_GFX_VERSION", "CMAKE_ARGS", "GGML_CUDA", "GGML_VULKAN", "ONEAPI_DEVICE_SELECTOR", "GGML_CUDA_ENABLE_UNIFIED_MEMORY",
}


def main():
    causes = json.load(open(sys.argv[1]))["causes"]
    rig = pathlib.Path(sys.argv[2]) / "bin"
    help_text = ""
    for program in ("llama-server", "llama-completion"):
        help_text += subprocess.run([str(rig / program), "--help"], capture_output=True, text=True,
                                    timeout=60).stdout
    flags = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", help_text))
    variables = set(re.findall(r"LLAMA_ARG_\w+", help_text))
    backends = b"".join(path.read_bytes() for path in rig.glob("libggml-*.so"))
    texts = [(cause["id"], remedy["text"], remedy["place"]) for cause in causes for remedy in cause["remedies"]]
    for path in sorted(pathlib.Path(sys.argv[3]).glob("src/verdict/*/*.cpp")):
        if path.name.endswith("_test.cpp") or path.name == "catalogue.cpp":
            continue
        code = re.sub(r"//.*", "", path.read_text())
        texts += [(path.name, text, None) for text in re.findall(r'"((?:[^"\\]|\\.)*)"', code)]
    bad = []
    looked_at = 0
    for where, text, place in texts:
        for word in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\w+)?", text):
            looked_at += 1
            of_llama = word.split("=")[0] in flags and (word not in OTHERS or place != "container")
            if not of_llama and word not in OTHERS and word.split("=")[0] not in OTHERS:
                bad.append(f"{where}: {word}: in {text!r}")
        for word in re.findall(r"(?<![-\w])[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b", text):
            looked_at += 1
            if word not in variables and word not in OTHER_VARIABLES and word.encode() not in backends:
                bad.append(f"{where}: variable {word}: in {text!r}")
    for line in bad:
        print(line)
    if bad or looked_at < 20:
        return 1
    print(f"every flag and variable of llama.cpp exists ({looked_at} looked at)")
    return 0


sys.exit(main())

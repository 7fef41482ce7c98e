#!/usr/bin/env python3
"""made_up_machine.py DIR WORD...: /proc, /sys, /dev and /etc of a machine that is not there, for
PICCHIO_SYSTEM_ROOT or to be mounted.

Words: amd, nvidia, intel (a card with its driver), no-driver, nouveau (instead of it), nodes (its device
nodes, open to all), locked (nodes of group render, 0660), docker, wsl, uvm-missing, secure-boot,
module (NVIDIA's, built for this kernel), old-module (for another), vulkan, lavapipe, cuda (libcuda of
550.54.14), kernel=VERSION (of NVIDIA's module), ollama-masked (a unit that hides the card)."""
import os
import pathlib
import sys

CARDS = {
    "amd": ("1002", "744c", "amdgpu"),
    "nvidia": ("10de", "2684", "nvidia"),
    "intel": ("8086", "56a0", "i915"),
}


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    def at(self, path):
        full = self.root / path.lstrip("/")
        full.parent.mkdir(parents=True, exist_ok=True)
        return full

    def file(self, path, text=""):
        full = self.at(path)
        full.write_bytes(text if isinstance(text, bytes) else text.encode())
        return full

    def link(self, path, target):
        self.at(path).symlink_to(target)


def card(tree, kind, words):
    vendor, device, driver = CARDS[kind]
    if "no-driver" in words:
        driver = ""
    if "nouveau" in words:
        driver = "nouveau"
    address = "0000:03:00.0"
    folder = f"/sys/devices/pci0000:00/{address}"
    tree.file(f"{folder}/class", "0x030000\n")
    tree.file(f"{folder}/vendor", f"0x{vendor}\n")
    tree.file(f"{folder}/device", f"0x{device}\n")
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../devices/pci0000:00/{address}")
    if driver:
        tree.at(f"/sys/bus/pci/drivers/{driver}/x").parent.mkdir(parents=True, exist_ok=True)
        tree.link(f"{folder}/driver", f"../../../bus/pci/drivers/{driver}")
        tree.file(f"/sys/module/{driver}/x")
        tree.at(f"{folder}/drm/renderD128/x")
        tree.link(f"{folder}/drm/renderD128/device", f"../../../{address}")
        tree.link("/sys/class/drm/renderD128", f"../../devices/pci0000:00/{address}/drm/renderD128")


def nodes(kind, words):
    if kind == "nvidia" and "nouveau" not in words:
        paths = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"]
        return [path for path in paths if not (path.endswith("uvm") and "uvm-missing" in words)]
    return ["/dev/dri/renderD128"] + (["/dev/kfd"] if kind == "amd" else [])


def main():
    tree = Tree(sys.argv[1])
    words = sys.argv[2:]
    tree.file("/proc/cpuinfo", "model name : made up\n")
    tree.file("/proc/sys/kernel/ostype", "Linux\n")
    tree.file("/proc/sys/kernel/osrelease",
              "5.15.0-microsoft-standard-WSL2\n" if "wsl" in words else "6.1.0-18-amd64\n")
    tree.at("/sys/bus/pci/devices/x").parent.mkdir(parents=True, exist_ok=True)
    tree.at("/sys/class/drm/x").parent.mkdir(parents=True, exist_ok=True)
    tree.file("/etc/os-release", "ID=debian\n")
    tree.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:4242:\n")
    tree.at("/dev/x")
    kinds = [word for word in words if word in CARDS]
    for kind in kinds:
        card(tree, kind, words)
        if "nodes" in words or "locked" in words:
            for path in nodes(kind, words):
                full = tree.file(path)
                full.chmod(0o666)
                if "locked" in words:
                    os.chown(full, 0, 4242)
                    full.chmod(0o660)
    if "docker" in words:
        tree.file("/.dockerenv")
    if "secure-boot" in words:
        tree.file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\6\0\0\0\1")
    if "module" in words:
        tree.file("/lib/modules/6.1.0-18-amd64/updates/dkms/nvidia.ko")
    if "old-module" in words:
        tree.file("/lib/modules/6.1.0-17-amd64/updates/dkms/nvidia.ko")
    for word in words:
        if word.startswith("kernel="):
            tree.file("/sys/module/nvidia/version", word[7:] + "\n")
    if "cuda" in words:
        for name in ("libcuda.so", "libnvidia-ml.so"):
            tree.file(f"/usr/lib/x86_64-linux-gnu/{name}.550.54.14")
            tree.link(f"/usr/lib/x86_64-linux-gnu/{name}.1", f"{name}.550.54.14")
    if "vulkan" in words:
        tree.file("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
                  '{"ICD": {"library_path": "/usr/lib/libvulkan_radeon.so"}}')
    if "lavapipe" in words:
        tree.file("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
                  '{"ICD": {"library_path": "/usr/lib/libvulkan_lvp.so"}}')
    if "ollama-masked" in words:
        tree.file("/etc/systemd/system/ollama.service", "[Service]\nUser=ollama\n")
        tree.file("/etc/systemd/system/ollama.service.d/override.conf",
                  '[Service]\nEnvironment="CUDA_VISIBLE_DEVICES=-1" "OLLAMA_HOST=0.0.0.0"\n')


main()

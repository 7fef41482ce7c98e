#include "machine/inventory.h"

#include "machine/cpu_name.h"
#include "machine/gpu_table.h"
#include "os/made_up_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace picchio {
namespace {

struct MachineCase {
  const char* name;
  std::function<void(const MadeUpTree&)> make;
  bool known;
  std::size_t gpus;
  const char* usable;  // name of usable_gpu(), "" for none
};

const MachineCase kMachines[] = {
    {"a server without any graphics",
     [](const MadeUpTree& t) {
       t.pci("0000:00:00.0", "8086:0d57", "0x060000");
       t.pci("0000:00:03.0", "1af4:1041", "0x020000", "virtio-pci");
     },
     true, 0, ""},
    {"NVIDIA with its driver, seen through PCI, DRM and nodes",
     [](const MadeUpTree& t) {
       t.pci("0000:61:00.0", "10de:2684", "0x030000", "nvidia");
       t.pci("0000:61:00.1", "10de:22ba", "0x040300", "snd_hda_intel");
       t.render_node(128, "pci0000:00/0000:61:00.0");
       for (const char* node : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-modeset"}) {
         t.file(std::string("/dev/") + node);
       }
     },
     true, 1, "NVIDIA GPU 10de:2684 at 0000:61:00.0 (driver nvidia)"},
    {"NVIDIA whose driver tells the model",
     [](const MadeUpTree& t) {
       t.pci("0000:01:00.0", "10de:2684", "0x030000", "nvidia");
       t.file("/proc/driver/nvidia/gpus/0000:01:00.0/information",
              "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:   \t\t 150\n");
     },
     true, 1, "NVIDIA GeForce RTX 4090 10de:2684 at 0000:01:00.0 (driver nvidia)"},
    {"NVIDIA without a driver",
     [](const MadeUpTree& t) { t.pci("0000:01:00.0", "10de:1b80", "0x030000"); }, true, 1,
     "NVIDIA GPU 10de:1b80 at 0000:01:00.0 (no driver)"},
    {"NVIDIA with the free driver",
     [](const MadeUpTree& t) { t.pci("0000:01:00.0", "10de:1b80", "0x030000", "nouveau"); }, true,
     1, "NVIDIA GPU 10de:1b80 at 0000:01:00.0 (driver nouveau)"},
    {"a compute card without a screen beside a server's BMC",
     [](const MadeUpTree& t) {
       t.pci("0000:02:00.0", "1a03:2000", "0x030000", "ast");
       t.pci("0000:c1:00.0", "10de:20b5", "0x030200", "nvidia");
     },
     true, 2, "NVIDIA GPU 10de:20b5 at 0000:c1:00.0 (driver nvidia)"},
    {"four cards, of which a container got two nodes",
     [](const MadeUpTree& t) {
       for (const char* address :
            {"0000:17:00.0", "0000:65:00.0", "0000:ca:00.0", "0000:e3:00.0"}) {
         t.pci(address, "10de:2330", "0x030200", "nvidia");
       }
       t.file("/dev/nvidia0");
       t.file("/dev/nvidia1");
     },
     true, 4, "NVIDIA GPU 10de:2330 at 0000:17:00.0 (driver nvidia)"},
    {"AMD with ROCm",
     [](const MadeUpTree& t) {
       t.pci("0000:0b:00.0", "1002:744c", "0x030000", "amdgpu");
       t.render_node(128, "pci0000:00/0000:0b:00.0");
       t.file("/dev/kfd");
       t.file("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
       t.file("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "52164\n");
     },
     true, 1, "AMD GPU 1002:744c at 0000:0b:00.0 (driver amdgpu)"},
    {"AMD Instinct, a processing accelerator",
     [](const MadeUpTree& t) { t.pci("0000:c8:00.0", "1002:74a1", "0x120000", "amdgpu"); }, true, 1,
     "AMD accelerator 1002:74a1 at 0000:c8:00.0 (driver amdgpu)"},
    {"an AMD processor whose KFD node has no GPU",
     [](const MadeUpTree& t) {
       t.pci("0000:00:00.0", "1022:1480", "0x060000");
       t.file("/dev/kfd");
       t.file("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
     },
     true, 0, ""},
    {"Intel integrated",
     [](const MadeUpTree& t) {
       t.pci("0000:00:02.0", "8086:46a6", "0x030000", "i915");
       t.render_node(128, "pci0000:00/0000:00:02.0");
     },
     true, 1, "Intel GPU 8086:46a6 at 0000:00:02.0 (driver i915)"},
    {"Intel integrated and its NPU",
     [](const MadeUpTree& t) {
       t.pci("0000:00:0b.0", "8086:7d1d", "0x120000", "intel_vpu");
       t.pci("0000:00:02.0", "8086:7d55", "0x030000", "xe");
     },
     true, 2, "Intel GPU 8086:7d55 at 0000:00:02.0 (driver xe)"},
    {"Intel from before Vulkan",
     [](const MadeUpTree& t) { t.pci("0000:00:02.0", "8086:0116", "0x030000", "i915"); }, true, 1,
     ""},
    {"a laptop with two GPUs",
     [](const MadeUpTree& t) {
       t.pci("0000:00:02.0", "8086:a7a0", "0x030000", "i915");
       t.pci("0000:01:00.0", "10de:28a0", "0x030000");
     },
     true, 2, "Intel GPU 8086:a7a0 at 0000:00:02.0 (driver i915)"},
    {"an external GPU behind Thunderbolt, in a domain of five digits",
     [](const MadeUpTree& t) { t.pci("10000:3c:00.0", "1002:73bf", "0x038000", "amdgpu"); }, true,
     1, "AMD GPU 1002:73bf at 10000:3c:00.0 (driver amdgpu)"},
    {"a server with a BMC's adapter only",
     [](const MadeUpTree& t) { t.pci("0000:02:00.0", "1a03:2000", "0x030000", "ast"); }, true, 1,
     ""},
    {"another, of Matrox",
     [](const MadeUpTree& t) { t.pci("0000:03:00.0", "102b:0536", "0x030000", "mgag200"); }, true,
     1, ""},
    {"a virtual machine with virtio, no 3D",
     [](const MadeUpTree& t) {
       t.pci("0000:00:01.0", "1af4:1050", "0x030000", "virtio-pci");
       t.file("/sys/devices/pci0000:00/0000:00:01.0/virtio0/features",
              "0100000000000000000000000000110011000000\n");
     },
     true, 1, ""},
    {"a virtual machine with virtio and OpenGL only",
     [](const MadeUpTree& t) {
       t.pci("0000:00:01.0", "1af4:1050", "0x038000", "virtio-pci");
       t.file("/sys/devices/pci0000:00/0000:00:01.0/virtio0/features", "1100000000\n");
       t.render_node(128, "pci0000:00/0000:00:01.0/virtio0", "virtio_gpu");
     },
     true, 1, ""},
    {"a virtual machine whose virtio GPU passes Vulkan through",
     [](const MadeUpTree& t) {
       t.pci("0000:00:01.0", "1af4:1050", "0x038000", "virtio-pci");
       t.file("/sys/devices/pci0000:00/0000:00:01.0/virtio0/features", "1111100000\n");
     },
     true, 1, "virtio GPU 1af4:1050 at 0000:00:01.0 (driver virtio-pci)"},
    {"QEMU's plain adapter",
     [](const MadeUpTree& t) { t.pci("0000:00:02.0", "1234:1111", "0x030000", "bochs-drm"); }, true,
     1, ""},
    {"VMware",
     [](const MadeUpTree& t) {
       t.pci("0000:00:0f.0", "15ad:0405", "0x030000", "vmwgfx");
       t.render_node(128, "pci0000:00/0000:00:0f.0");
     },
     true, 1, ""},
    {"VMware with a card handed through",
     [](const MadeUpTree& t) {
       t.pci("0000:00:0f.0", "15ad:0405", "0x030000", "vmwgfx");
       t.pci("0000:03:00.0", "10de:1eb8", "0x030200", "nvidia");
     },
     true, 2, "NVIDIA GPU 10de:1eb8 at 0000:03:00.0 (driver nvidia)"},
    {"Hyper-V, generation 1",
     [](const MadeUpTree& t) { t.pci("0000:00:08.0", "1414:5353", "0x030000", "hyperv_drm"); },
     true, 1, ""},
    {"VirtualBox", [](const MadeUpTree& t) { t.pci("0000:00:02.0", "80ee:beef", "0x030000"); },
     true, 1, ""},
    {"WSL2",
     [](const MadeUpTree& t) {
       t.pci("8b1a:00:00.0", "1414:008e", "0x030200", "dxgkrnl");
       t.file("/dev/dxg");
     },
     true, 1, "Microsoft GPU 1414:008e at 8b1a:00:00.0 (driver dxgkrnl)"},
    {"WSL2 whose PCI bus is empty",
     [](const MadeUpTree& t) {
       t.dir("/sys/bus/pci/devices");
       t.file("/dev/dxg");
     },
     true, 1, "the Windows host's GPU (WSL2) behind /dev/dxg"},
    {"Raspberry Pi 5",
     [](const MadeUpTree& t) {
       t.pci("0002:01:00.0", "1de4:0001", "0x020000", "rp1");
       t.render_node(128, "platform/axi/1002000000.v3d", "v3d");
     },
     true, 1, ""},
    {"Raspberry Pi with an AMD card",
     [](const MadeUpTree& t) {
       t.render_node(128, "platform/axi/1002000000.v3d", "v3d");
       t.pci("0001:03:00.0", "1002:743f", "0x030000", "amdgpu");
     },
     true, 2, "AMD GPU 1002:743f at 0001:03:00.0 (driver amdgpu)"},
    {"a phone's chip without PCI",
     [](const MadeUpTree& t) {
       t.dir("/sys/bus/platform/devices");
       t.render_node(128, "platform/soc@0/5000000.gpu", "msm");
     },
     true, 1, "Qualcomm Adreno GPU (driver msm)"},
    {"a Rockchip board",
     [](const MadeUpTree& t) { t.render_node(129, "platform/fb000000.gpu", "panthor"); }, true, 1,
     "ARM Mali GPU (driver panthor)"},
    {"an unknown driver outside of PCI",
     [](const MadeUpTree& t) { t.render_node(128, "platform/90000000.gpu", "newgpu"); }, true, 1,
     "GPU renderD128 (driver newgpu)"},
    {"Jetson with its nodes",
     [](const MadeUpTree& t) {
       t.pci("0004:01:00.0", "10ec:c822", "0x028000");
       t.file("/proc/device-tree/compatible",
              std::string("nvidia,p3737-0000\0nvidia,tegra234\0", 33));
       t.render_node(128, "platform/bus@0/13e00000.host1x/drm", "drm");
       t.file("/dev/nvhost-gpu");
       t.dir("/dev/nvgpu/igpu0");
     },
     true, 1, "NVIDIA Tegra GPU (driver drm)"},
    {"Jetson in a container without nodes",
     [](const MadeUpTree& t) {
       t.dir("/sys/bus/pci/devices");
       t.file("/proc/device-tree/compatible",
              std::string("nvidia,p3737-0000\0nvidia,tegra234\0", 33));
     },
     true, 1, "NVIDIA Tegra GPU"},
    {"render nodes that pretend",
     [](const MadeUpTree& t) {
       t.pci("0000:00:00.0", "8086:0d57", "0x060000");
       t.render_node(128, "platform/vgem");
       t.render_node(129, "platform/vkms");
     },
     true, 0, ""},
    {"a node left over in a container without its device",
     [](const MadeUpTree& t) {
       t.pci("0000:00:00.0", "8086:0d57", "0x060000");
       t.dir("/sys/class/drm");
       t.file("/dev/dri/renderD128");
     },
     true, 0, ""},
    {"/sys is hidden", [](const MadeUpTree& t) { t.file("/dev/null"); }, false, 0, ""},
    {"/sys is hidden, and its folder is there and empty",
     [](const MadeUpTree& t) { t.dir("/sys/bus"); }, false, 0, ""},
    {"/sys is hidden, yet nodes are there",
     [](const MadeUpTree& t) {
       t.file("/dev/nvidia0");
       t.file("/dev/nvidia1");
       t.file("/dev/nvidiactl");
     },
     false, 2, "NVIDIA GPU behind /dev/nvidia0"},
    {"/sys is hidden, a render node and the KFD are there",
     [](const MadeUpTree& t) {
       t.file("/dev/kfd");
       t.file("/dev/dri/renderD128");
       t.file("/dev/dri/card0");
     },
     false, 1, "AMD GPU behind /dev/kfd"},
    {"a machine without PCI and without graphics",
     [](const MadeUpTree& t) { t.dir("/sys/bus/platform/devices"); }, true, 0, ""},
    {"a PCI device that keeps its class to itself",
     [](const MadeUpTree& t) {
       t.pci("0000:00:00.0", "8086:0d57", "0x060000");
       t.dir("/sys/bus/pci/devices/0000:01:00.0");
     },
     false, 0, ""},
    {"an FPGA card",
     [](const MadeUpTree& t) { t.pci("0000:3b:00.0", "10ee:5001", "0x120000", "xclmgmt"); }, true,
     1, ""},
    {"a GPU of nobody we know",
     [](const MadeUpTree& t) { t.pci("0000:05:00.0", "abcd:0001", "0x030000"); }, true, 1,
     "unknown vendor's GPU abcd:0001 at 0000:05:00.0 (no driver)"},
};

void expect_gpus(const Machine& machine, const MachineCase& c) {
  EXPECT_EQ(machine.gpus_known, c.known) << machine.gpus_unknown_reason;
  EXPECT_EQ(machine.gpus_unknown_reason.empty(), c.known);
  EXPECT_EQ(machine.gpus.size(), c.gpus);
  const MachineGpu* usable = usable_gpu(machine);
  EXPECT_EQ(usable == nullptr ? "" : usable->name, c.usable);
}

void expect_reasons(const Machine& machine) {
  for (const MachineGpu& gpu : machine.gpus) {
    EXPECT_EQ(gpu.can_compute, gpu.no_compute_reason.empty()) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
  }
}

TEST(Inventory, GpusOfEveryKindOfMachine) {
  for (const MachineCase& c : kMachines) {
    SCOPED_TRACE(c.name);
    const MadeUpTree tree;
    c.make(tree);
    const Machine machine = read_machine(tree.root());
    expect_gpus(machine, c);
    expect_reasons(machine);
  }
}

TEST(Inventory, ADirectoryThatMayNotBeReadIsNotAnEmptyOne) {
  const MadeUpTree tree;
  tree.render_node(128, "platform/5000000.gpu", "msm");
  tree.dir("/sys/bus/pci/devices");
  const std::string dir = tree.root() + "/sys/bus/pci/devices";
  ::chmod(dir.c_str(), 0);
  const auto check = [&] {
    const Machine machine = read_machine(tree.root());
    return !machine.gpus_known && !machine.gpus_unknown_reason.empty() && usable_gpu(machine);
  };
  // Root is refused nothing, so the look is somebody else's.
  const pid_t child = ::fork();
  if (child == 0) ::_exit((::geteuid() != 0 || ::setuid(65534) == 0) && check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  ::chmod(dir.c_str(), 0755);
  EXPECT_EQ(status, 0);
}

TEST(Inventory, WhatADisplayAdapterIsStandsBesideIt) {
  const MadeUpTree tree;
  tree.pci("0000:02:00.0", "1a03:2000", "0x030000", "ast");
  const Machine machine = read_machine(tree.root());
  ASSERT_EQ(machine.gpus.size(), 1U);
  const MachineGpu& gpu = machine.gpus[0];
  EXPECT_EQ(gpu.name, "ASPEED display adapter 1a03:2000 at 0000:02:00.0 (driver ast)");
  EXPECT_EQ(gpu.vendor, "ASPEED");
  EXPECT_EQ(gpu.driver, "ast");
  EXPECT_EQ(gpu.address, "0000:02:00.0");
  EXPECT_EQ(gpu.source, "/sys/bus/pci/devices/0000:02:00.0");
  EXPECT_EQ(gpu.no_compute_reason, "the display adapter of a server's management controller");
}

TEST(Inventory, MemoryCoresAndSystem) {
  const MadeUpTree tree;
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD Ryzen 9   7950X\nprocessor\t: 1\n"
            "model name\t: AMD Ryzen 9   7950X\n");
  tree.file("/proc/meminfo", "MemTotal:       24689172 kB\nMemFree:        100 kB\n");
  tree.file("/proc/sys/kernel/ostype", "Linux\n");
  tree.file("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  const Machine machine = read_machine(tree.root());
  EXPECT_EQ(machine.chip, "AMD Ryzen 9 7950X");
  EXPECT_EQ(machine.logical_cores, 2);
  EXPECT_EQ(machine.ram_bytes, std::int64_t{24689172} * 1024);
  EXPECT_EQ(machine.os, "Linux 6.1.0-18-amd64");
}

TEST(Inventory, WhatCannotBeReadIsAbsent) {
  const MadeUpTree tree;
  tree.file("/proc/meminfo", "MemTotal: lots\n");
  const Machine machine = read_machine(tree.root());
  EXPECT_EQ(machine.chip, "");
  EXPECT_EQ(machine.os, "");
  EXPECT_EQ(machine.ram_bytes, std::nullopt);
  EXPECT_EQ(machine.logical_cores, std::nullopt);
}

TEST(Inventory, ThisMachine) {
  const Machine machine = read_machine();
  EXPECT_TRUE(machine.os.starts_with("Linux ")) << machine.os;
  EXPECT_GT(machine.ram_bytes.value_or(0), std::int64_t{64} << 20);
  EXPECT_GE(machine.logical_cores.value_or(0), 1);
}

TEST(CpuName, OfEveryArchitecture) {
  struct Case {
    const char* name;
    std::string cpuinfo;
    std::string board;
    const char* expected;
  };
  const std::string pi_board("Raspberry Pi 5 Model B Rev 1.0\0", 31);
  for (const Case& c : {
           Case{"x86", "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i5 CPU @ 2.60GHz\n", "",
                "Intel(R) Core(TM) i5 CPU @ 2.60GHz"},
           Case{"ARM board", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n",
                pi_board, "Raspberry Pi 5 Model B Rev 1.0"},
           Case{"ARM board, old kernel",
                "processor\t: 0\nmodel name\t: ARMv7 Processor rev 3 (v7l)\n"
                "CPU implementer\t: 0x41\nCPU part\t: 0xd08\nHardware\t: BCM2835\n"
                "Model\t\t: Raspberry Pi 4 Model B Rev 1.1\n",
                "", "Raspberry Pi 4 Model B Rev 1.1"},
           Case{"ARM server", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "",
                "Neoverse-N1"},
           Case{"big and little",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n"
                "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
                "processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n",
                "", "Cortex-A55 + Cortex-A76"},
           Case{"unknown ARM", "processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x001\n", "",
                "ARM 0x99:0x001"},
           Case{"POWER", "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "",
                "POWER9, altivec supported"},
           Case{"RISC-V", "processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n", "",
                "sifive,u74-mc"},
           Case{"nothing", "", "", ""},
       }) {
    EXPECT_EQ(cpu_name(c.cpuinfo, c.board), c.expected) << c.name;
  }
}

TEST(CpuName, Cores) {
  EXPECT_EQ(logical_cores("processor\t: 0\nprocessor\t: 1\nprocessor\t: 5\n"), 3);
  EXPECT_EQ(logical_cores("vendor_id : IBM/S390\n# processors : 2\n"
                          "processor 0: version = FF, identification = 1\n"
                          "processor 1: version = FF, identification = 2\n"),
            2);
  EXPECT_EQ(logical_cores("no such thing"), std::nullopt);
}

TEST(GpuTable, Nodes) {
  struct Case {
    const char* dir;
    const char* file;
    bool gpu;
  };
  for (const Case& c : {Case{"/dev", "nvidia0", true}, Case{"/dev", "nvidia12", true},
                        Case{"/dev", "nvidia", false}, Case{"/dev", "nvidiactl", false},
                        Case{"/dev", "nvidia-uvm", false}, Case{"/dev", "kfd", true},
                        Case{"/dev", "kfd0", false}, Case{"/dev/dri", "renderD128", true},
                        Case{"/dev/dri", "card0", false}, Case{"/dev", "renderD128", false},
                        Case{"/dev", "dxg", true}, Case{"/dev", "null", false}}) {
    EXPECT_EQ(find_gpu_node(c.dir, c.file) != nullptr, c.gpu) << c.file;
  }
}

TEST(GpuTable, Classes) {
  for (const long gpu : {0x030000, 0x030200, 0x038000, 0x120000, 0x120100}) {
    EXPECT_TRUE(is_gpu_class(gpu)) << gpu;
  }
  for (const long other : {0x030100, 0x040300, 0x060000, 0x0b4000, 0x000300, 0x020000, 0x118000}) {
    EXPECT_FALSE(is_gpu_class(other)) << other;
  }
}

TEST(Inventory, TheDistributionIsDebiansFamilyOrNone) {
  struct Case {
    const char* os_release;
    const char* distribution;
  };
  for (const Case& c :
       {Case{"NAME=x\nID=debian\n", "debian"},
        Case{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "debian"},
        Case{"ID='ubuntu'\n", "debian"}, Case{"ID=fedora\n", ""}, Case{"ID=\"debianish\"\n", ""},
        Case{"VERSION_ID=debian\n", ""}, Case{"", ""}}) {
    const MadeUpTree tree;
    tree.file("/etc/os-release", c.os_release);
    EXPECT_EQ(read_machine(tree.root()).distribution, c.distribution) << c.os_release;
  }
}

}  // namespace
}  // namespace picchio

#include "machine/checkup/checkup.h"

#include "machine/inventory.h"
#include "os/made_up_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace picchio {
namespace {

using namespace std::string_literals;
using Environment = std::map<std::string, std::string>;

struct Housed {
  const char* name;
  std::function<void(const MadeUpTree&)> make;
  Environment environment;
  Housing housing;
};

TEST(Checkup, FindsWhatWeRunIn) {
  const std::vector<Housed> cases = {
      {"a plain machine", [](const MadeUpTree&) {}, {}, {}},
      {"docker", [](const MadeUpTree& t) { t.file("/.dockerenv"); }, {}, {.container = "docker"}},
      {"podman",
       [](const MadeUpTree& t) { t.file("/run/.containerenv"); },
       {},
       {.container = "podman"}},
      {"lxc by its variable",
       [](const MadeUpTree& t) { t.file("/proc/1/environ", "PATH=/bin\0container=lxc\0"s); },
       {},
       {.container = "lxc"}},
      {"an escape in that variable",
       [](const MadeUpTree& t) { t.file("/proc/1/environ", "container=\x1b[31mx\0"s); },
       {},
       {.container = "x"}},
      {"docker by its cgroup",
       [](const MadeUpTree& t) { t.file("/proc/1/cgroup", "12:devices:/docker/9f3\n"); },
       {},
       {.container = "docker"}},
      {"other mounts than the first process",
       [](const MadeUpTree& t) {
         t.link("/proc/1/ns/mnt", "mnt:[1]");
         t.link("/proc/self/ns/mnt", "mnt:[2]");
       },
       {},
       {.container = "a mount namespace"}},
      {"the same mounts",
       [](const MadeUpTree& t) {
         t.link("/proc/1/ns/mnt", "mnt:[1]");
         t.link("/proc/self/ns/mnt", "mnt:[1]");
       },
       {},
       {}},
      {"a snap", [](const MadeUpTree&) {}, {{"SNAP", "/snap/x"}}, {.sandbox = "snap"}},
      {"a flatpak",
       [](const MadeUpTree& t) { t.file("/.flatpak-info"); },
       {},
       {.sandbox = "flatpak"}},
      {"WSL",
       [](const MadeUpTree& t) {
         t.file("/proc/sys/kernel/osrelease", "5.15.0-microsoft-standard-WSL2\n");
         t.file("/proc/cpuinfo", "flags : fpu hypervisor\n");
       },
       {},
       {.wsl = true}},
      {"a virtual machine",
       [](const MadeUpTree& t) {
         t.file("/proc/cpuinfo", "flags : fpu hypervisor\n");
         t.file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
         t.file("/sys/class/dmi/id/product_name", "Standard PC\n");
       },
       {},
       {.virtual_machine = "Standard PC (QEMU)"}},
  };
  for (const Housed& c : cases) {
    const MadeUpTree tree;
    c.make(tree);
    const Housing found = find_housing(tree.root(), c.environment);
    EXPECT_EQ(found.container, c.housing.container) << c.name;
    EXPECT_EQ(found.sandbox, c.housing.sandbox) << c.name;
    EXPECT_EQ(found.virtual_machine, c.housing.virtual_machine) << c.name;
    EXPECT_EQ(found.wsl, c.housing.wsl) << c.name;
  }
}

TEST(Checkup, ReadsTheKernelsDrivers) {
  const MadeUpTree tree;
  tree.file("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  tree.file("/sys/module/nvidia/version", "550.54.14\n");
  tree.file("/etc/modprobe.d/a.conf", "# blacklist nvidia\nblacklist nouveau\nblacklist pcspkr\n");
  tree.file("/sys/firmware/efi/efivars/SecureBoot-8be4", "\6\0\0\0\1"s);
  tree.file("/lib/modules/6.1.0-17-amd64/updates/dkms/nvidia.ko.xz");
  const KernelDrivers found = find_kernel_drivers(tree.root());
  EXPECT_EQ(found.loaded, (std::vector<std::string>{"nvidia"}));
  EXPECT_EQ(found.nvidia_version, "550.54.14");
  EXPECT_EQ(found.blacklisted, (std::vector<std::string>{"nouveau"}));
  EXPECT_EQ(found.secure_boot, true);
  EXPECT_FALSE(found.nvidia_for_this_kernel);
  EXPECT_TRUE(found.nvidia_for_another_kernel);

  const MadeUpTree bare;
  bare.file("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Thu Feb 22\n");
  bare.file("/sys/firmware/efi/efivars/SecureBoot-8be4", "\6\0\0\0"s);
  const KernelDrivers other = find_kernel_drivers(bare.root());
  EXPECT_EQ(other.nvidia_version, "535.161.08");
  EXPECT_FALSE(other.secure_boot);
}

TEST(Checkup, AsksForTheNodesOfTheCardsThatAreThere) {
  struct Case {
    const char* name;
    const char* ids;
    const char* driver;
    bool wsl;
    std::vector<std::string> paths;
  };
  for (const Case& c : {
           Case{"NVIDIA",
                "10de:2684",
                "nvidia",
                false,
                {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-uvm"}},
           Case{"nouveau", "10de:2684", "nouveau", false, {"/dev/dri/renderD128"}},
           Case{"AMD", "1002:744c", "amdgpu", false, {"/dev/dri/renderD128", "/dev/kfd"}},
           Case{"Intel", "8086:56a0", "i915", false, {"/dev/dri/renderD128"}},
           Case{"WSL", "10de:2684", "", true, {"/dev/dxg"}},
       }) {
    const MadeUpTree tree;
    tree.pci("0000:03:00.0", c.ids, "0x030000", c.driver);
    tree.file("/dev/nvidia0");
    tree.file("/dev/nvidia1");
    tree.file("/etc/group", "video:x:44:ann,bob\nbroken\nx:y:-3:\n");
    Housing housing;
    housing.wsl = c.wsl;
    const Machine machine = read_machine(tree.root());
    const std::vector<NodeLook> nodes =
        look_at_nodes(tree.root(), machine, housing, "ann", os::NodeTrial::open);
    const std::vector<NodeLook> asked =
        look_at_nodes(tree.root(), machine, housing, "ann", os::NodeTrial::ask);
    ASSERT_EQ(asked.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(asked[i].access, nodes[i].access);
    std::vector<std::string> paths;
    for (const NodeLook& node : nodes) {
      paths.push_back(node.path);
      const bool there = node.path == "/dev/nvidia0" || node.path == "/dev/nvidia1";
      EXPECT_EQ(node.access, there ? NodeAccess::opened : NodeAccess::missing) << node.path;
    }
    EXPECT_EQ(paths, c.paths) << c.name;
  }
}

TEST(Checkup, FindsLibrariesInTheLoadersOrder) {
  const MadeUpTree tree;
  tree.file("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14");
  tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.550.54.14");
  tree.file("/opt/first/libvulkan.so.1");
  tree.file("/usr/lib/libvulkan.so.1");
  tree.file("/etc/ld.so.conf.d/x.conf", "# a comment\n/opt/configured\n");
  tree.file("/opt/configured/libze_loader.so.1");
  const std::vector<std::string> names = {"libcuda.so.1", "libvulkan.so.1", "libze_loader.so.1",
                                          "libamdhip64.so"};
  const auto found =
      find_libraries(tree.root(), names, {{"LD_LIBRARY_PATH", "relative:/opt/first"}});
  EXPECT_EQ(found[0].path, "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(found[0].version, "550.54.14");
  EXPECT_EQ(found[1].path, "/opt/first/libvulkan.so.1");
  EXPECT_EQ(found[1].version, "");
  EXPECT_EQ(found[2].path, "/opt/configured/libze_loader.so.1");
  EXPECT_EQ(found[3].path, "");
}

TEST(Checkup, BelievesTheLoadersCache) {
  const MadeUpTree tree;
  tree.file("/odd/place/libcuda.so.550.54.14");
  tree.link("/odd/place/libcuda.so.1", "libcuda.so.550.54.14");
  tree.file(
      "/etc/ld.so.cache",
      "glibc-ld.so.cache1.1\0\1\2libcuda.so.1\0/gone/libcuda.so.1\0/odd/place/libcuda.so.1\0"s);
  const std::vector<std::string> names = {"libcuda.so.1", "cuda.so.1"};
  const auto found = find_libraries(tree.root(), names, {});
  EXPECT_EQ(found[0].path, "/odd/place/libcuda.so.1");
  EXPECT_EQ(found[0].version, "550.54.14");
  EXPECT_EQ(found[1].path, "");
}

TEST(Checkup, ReadsVulkanManifestsOfAnyBytes) {
  const MadeUpTree tree;
  const std::string folder = "/usr/share/vulkan/icd.d/";
  tree.file(folder + "a.json", R"({"ICD": {"library_path": "libvulkan_radeon.so"}})");
  tree.file(folder + "b.json", R"({"ICD": {"library_path": "/x/libvulkan_lvp.so"}})");
  tree.file(folder + "c_lvp.json", "[[[[");
  tree.file(folder + "d.json", R"({"ICD": [{"library_path": "x"}]})");
  tree.file(folder + "e.txt", "");
  const auto found = find_vulkan_drivers(tree.root(), {});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].library, "libvulkan_radeon.so");
  EXPECT_FALSE(found[0].software);
  EXPECT_TRUE(found[1].software);
  EXPECT_TRUE(found[2].software) << "by its name, where its text tells nothing";
  EXPECT_FALSE(found[3].software);
  const auto named =
      find_vulkan_drivers(tree.root(), {{"VK_DRIVER_FILES", folder + "b.json:/not/there.json"}});
  ASSERT_EQ(named.size(), 1u);
  EXPECT_TRUE(named[0].software);
}

TEST(Checkup, ReadsUnitFilesWithTheirDropIns) {
  const MadeUpTree tree;
  EXPECT_FALSE(read_unit(tree.root(), "ollama.service"));
  tree.file("/etc/systemd/system/ollama.service",
            "[Service]\nUser=ollama\nEnvironment=\"PATH=/usr/bin:/bin\"\n");
  tree.file("/etc/systemd/system/ollama.service.d/a.conf",
            "[Service]\nEnvironment='CUDA_VISIBLE_DEVICES=' \"A=b c\" word\n");
  const auto unit = read_unit(tree.root(), "ollama.service");
  ASSERT_TRUE(unit);
  EXPECT_EQ(unit->user, "ollama");
  EXPECT_EQ(unit->environment.at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(unit->environment.at("A"), "b c");
  EXPECT_EQ(unit->environment.size(), 3u);
  EXPECT_EQ(unit->source, "/etc/systemd/system/ollama.service.d/a.conf");
}

TEST(Checkup, FindsBackendsAndWheels) {
  const MadeUpTree tree;
  const std::string wheel = "/home/ann/.local/lib/python3.11/site-packages/llama_cpp";
  for (const char* name : {"libggml-base.so", "libggml-cpu-zen4.so", "libggml-cuda.so",
                           "libggml-cuda.so.1", "libggml-rpc.so", "libllama.so", "ggml-x.dll"}) {
    tree.file(wheel + "/lib/" + name);
  }
  EXPECT_EQ(gpu_backends_in(tree.root() + wheel + "/lib"), (std::vector<std::string>{"cuda"}));
  const auto wheels = find_wheels(tree.root(), {{"HOME", "/home/ann"}});
  ASSERT_EQ(wheels.size(), 1u);
  EXPECT_EQ(wheels[0].path, wheel);
  EXPECT_EQ(wheels[0].backends, (std::vector<std::string>{"cuda"}));
  EXPECT_TRUE(find_wheels(tree.root(), {{"HOME", "relative"}}).empty());
}

TEST(Checkup, TellsWhatIsBuiltInFromWhatCannotBeSeen) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> files;
    bool known;
    std::vector<std::string> backends;
  };
  const std::string core =
      "\x7F"
      "ELF ggml_backend_cpu_reg ";
  for (const Case& c : {
           Case{"backends of their own",
                {{"libggml-cpu-zen4.so", ""}, {"libggml-vulkan.so", ""}},
                true,
                {"vulkan"}},
           Case{"the CPU's alone", {{"libggml-cpu.so", ""}}, true, {}},
           Case{"built in", {{"p", core + "ggml_vulkan: "}}, true, {"vulkan"}},
           Case{"built for the CPU", {{"p", core}}, true, {}},
           Case{"in its library",
                {{"p",
                  "\x7F"
                  "ELF"},
                 {"libggml.so", core + "ggml_cuda_init: "}},
                true,
                {"cuda"}},
           Case{"libraries elsewhere",
                {{"p",
                  "\x7F"
                  "ELF"}},
                false,
                {}},
           Case{"a script", {{"p", "#!/bin/sh\n# ggml_backend_cpu\n"}}, false, {}},
       }) {
    const MadeUpTree tree;
    for (const auto& [name, text] : c.files) tree.file("/" + name, text);
    EngineFound engine;
    engine.path = tree.root() + "/p";
    find_backends({tree.root()}, engine);
    EXPECT_EQ(engine.backends_known, c.known) << c.name;
    EXPECT_EQ(engine.backends, c.backends) << c.name;
  }
}

}  // namespace
}  // namespace picchio

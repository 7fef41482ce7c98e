#include "machine/process_facts.h"

#include "machine/tcp_listeners.h"
#include "machine/telling_names.h"
#include "os/file.h"
#include "os/made_up_tree.h"
#include "os/proc.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <tuple>

namespace picchio {
namespace {

void process(const MadeUpTree& tree, int pid, int parent, const std::string& comm,
             const std::vector<std::string>& mapped, const std::vector<std::string>& open,
             char state = 'S') {
  const std::string dir = "/proc/" + std::to_string(pid);
  tree.file(dir + "/stat", std::to_string(pid) + " (" + comm + ") " + state + " " +
                               std::to_string(parent) +
                               " 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777 1 1 1\n");
  tree.file(dir + "/comm", comm + "\n");
  std::string maps;
  for (const std::string& path : mapped) {
    maps += "7f00-7f01 r--p 00000000 fe:00 12 " + path + "\n";
  }
  tree.file(dir + "/maps", maps);
  tree.dir(dir + "/fd");
  for (std::size_t i = 0; i < open.size(); ++i) {
    tree.link(dir + "/fd/" + std::to_string(i), open[i]);
  }
}

using Names = std::vector<std::string>;

TEST(ProcessFacts, OfTheWholeTree) {
  const MadeUpTree tree;
  process(tree, 10, 1, "sh", {"/usr/bin/dash", "/lib/libc.so.6"}, {"/dev/null"});
  process(tree, 11, 10, "llama-completio",
          {"/opt/llama/libggml-cuda.so", "/opt/llama/libggml-base.so.0", "/lib/libc.so.6",
           "/usr/lib/libcuda.so.550.54", "/opt/llama/libllama.so", "/models/libggml.gguf/m.gguf"},
          {"/dev/null", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia0", "socket:[1]"});
  process(tree, 12, 11, "helper", {"/usr/lib/libvulkan_radeon.so"}, {"/dev/dri/renderD128"});
  process(tree, 99, 1, "stranger", {"/usr/lib/libamdhip64.so.6"}, {"/dev/kfd"});
  const ProcessFacts facts = read_process_facts(tree.root(), 10);
  EXPECT_TRUE(facts.readable);
  EXPECT_EQ(facts.libraries, (Names{"libcuda.so.550.54", "libggml-base.so.0", "libggml-cuda.so",
                                    "libvulkan_radeon.so"}));
  EXPECT_EQ(facts.device_nodes, (Names{"/dev/dri/renderD128", "/dev/nvidia0", "/dev/nvidiactl"}));
  EXPECT_EQ(facts.processes, (Names{"helper", "llama-completio", "sh"}));
}

TEST(ProcessFacts, ANodeThatIsOnlyMappedCounts) {
  const MadeUpTree tree;
  process(tree, 10, 1, "llama", {"/dev/nvidia0", "/opt/libggml.so"}, {});
  EXPECT_EQ(read_process_facts(tree.root(), 10).device_nodes, Names{"/dev/nvidia0"});
}

TEST(ProcessFacts, NothingIsSaidOfWhatCannotBeRead) {
  const MadeUpTree tree;
  process(tree, 10, 1, "llama", {"/opt/libggml.so"}, {});
  tree.file("/proc/11/stat", "11 (worker) R 10 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777 1 1 1\n");
  const ProcessFacts half = read_process_facts(tree.root(), 10);
  EXPECT_FALSE(half.readable);
  EXPECT_TRUE(half.libraries.empty());
  EXPECT_FALSE(read_process_facts(tree.root(), 77).readable);  // no such process
}

TEST(ProcessFacts, AnEndedProcessProvesNothing) {
  const MadeUpTree tree;
  process(tree, 10, 1, "llama", {}, {}, 'Z');
  EXPECT_FALSE(read_process_facts(tree.root(), 10).readable);
  const MadeUpTree with_ended_child;
  process(with_ended_child, 10, 1, "llama", {"/opt/libggml.so"}, {});
  process(with_ended_child, 11, 10, "probe", {}, {}, 'Z');
  const ProcessFacts facts = read_process_facts(with_ended_child.root(), 10);
  EXPECT_TRUE(facts.readable);
  EXPECT_EQ(facts.processes, Names{"llama"});
}

TEST(ProcessFacts, NumberIsBounded) {
  const MadeUpTree tree;
  Names many;
  for (int i = 0; i < 500; ++i) many.push_back("/opt/libggml-" + std::to_string(i) + ".so");
  process(tree, 10, 1, "llama", many, {});
  EXPECT_EQ(read_process_facts(tree.root(), 10).libraries.size(), 64U);
}

TEST(ProcessFacts, OfThisProcess) {
  const ProcessFacts facts = read_process_facts("/", ::getpid());
  EXPECT_TRUE(facts.readable);
  EXPECT_EQ(facts.processes, Names{"machine_test"});
}

TEST(TellingNames, Libraries) {
  for (const char* name :
       {"libggml-cuda.so", "libggml.so", "libggml-cpu-haswell.so", "libcuda.so.1",
        "libcudart.so.12", "libcublasLt.so.12", "libnvidia-glcore.so.550", "libamdhip64.so.6",
        "libhsa-runtime64.so.1", "librocblas.so.4", "libvulkan.so.1", "libvulkan_lvp.so",
        "libGLX_nvidia.so.0", "libze_loader.so.1", "libsycl.so.8", "libOpenCL.so.1",
        "libMoltenVK.dylib"}) {
    EXPECT_TRUE(is_telling_library(name)) << name;
  }
  for (const char* name :
       {"libc.so.6", "libmtmd.so", "libllama.so", "libcurl.so.4", "", "m.gguf"}) {
    EXPECT_FALSE(is_telling_library(name)) << name;
  }
}

TEST(TellingNames, Nodes) {
  for (const char* path :
       {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dri/renderD128",
        "/dev/dri/card1", "/dev/kfd", "/dev/dxg", "/dev/mali0"}) {
    EXPECT_TRUE(is_device_node(path)) << path;
  }
  for (const char* path : {"/dev/null", "/dev/kfd2", "/home/dev/nvidia0", "socket:[5]", ""}) {
    EXPECT_FALSE(is_device_node(path)) << path;
  }
}

TEST(Loopback, Endpoints) {
  struct Case {
    const char* text;
    bool ipv4;
    bool ipv6;
  };
  for (const Case& c : {Case{"127.0.0.1:50052", true, false}, Case{"localhost:50052", true, true},
                        Case{"[::1]:50052", false, true}, Case{"127.1.2.3:50052", true, false}}) {
    const LocalEndpoint endpoint = parse_loopback(c.text).value_or(LocalEndpoint());
    EXPECT_EQ(std::tuple(endpoint.ipv4, endpoint.ipv6, endpoint.port),
              std::tuple(c.ipv4, c.ipv6, 50052))
        << c.text;
  }
}

TEST(Loopback, OtherHostsAndNonsense) {
  for (const char* text : {"192.168.1.5:50052", "gpuhost:50052", "127.0.0.1", "127.0.0.1:0",
                           "127.0.0.1:65536", "127.0.0:1", "127.0.0.256:1", "", ":1"}) {
    EXPECT_FALSE(parse_loopback(text)) << text;
  }
}

constexpr const char* kTcpHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

// Whether a client of `endpoint` reaches what stands in `text`.
bool reached(const std::string& text, std::string_view endpoint) {
  const auto parsed = parse_loopback(endpoint);
  return parsed && !listener_inodes(text, *parsed).empty();
}

std::string tcp_line(const std::string& local, const char* state, int inode) {
  return "   0: " + local + " 00000000:0000 " + state +
         " 00000000:00000000 00:00000000 00000000  1000        0 " + std::to_string(inode) +
         " 1 0000000000000000 100 0 0 10 0\n";
}

TEST(Loopback, WhichListenersServeIt) {
  if (std::endian::native != std::endian::little)
    GTEST_SKIP() << "addresses below are little-endian";
  struct Case {
    const char* local;  // port C384 = 50052
    const char* state;
    bool ipv4;  // serves 127.0.0.1:50052
    bool ipv6;  // serves [::1]:50052
  };
  for (const Case& c : {
           Case{"0100007F:C384", "0A", true, false},
           Case{"00000000:C384", "0A", true, false},
           Case{"0101007F:C384", "0A", false, false},  // 127.0.1.1
           Case{"0501A8C0:C384", "0A", false, false},  // 192.168.1.5
           Case{"0100007F:C385", "0A", false, false},
           Case{"0100007F:C384", "01", false, false},  // a connection, not a listener
           Case{"00000000000000000000000000000000:C384", "0A", true, true},
           Case{"00000000000000000000000001000000:C384", "0A", false, true},
           Case{"0000000000000000FFFF00000100007F:C384", "0A", true, false},
       }) {
    const std::string text = kTcpHead + tcp_line(c.local, c.state, 77);
    EXPECT_EQ(reached(text, "127.0.0.1:50052"), c.ipv4) << c.local;
    EXPECT_EQ(reached(text, "[::1]:50052"), c.ipv6) << c.local;
  }
  EXPECT_FALSE(reached("garbage\n 0: x 0A\n\n", "[::1]:50052"));
}

class LocalWorkers : public testing::Test {
 protected:
  // Wildcards print alike on every machine.
  void listen(int inode) { tcp += tcp_line("00000000:C384", "0A", inode); }
  std::optional<LocalWorker> find(const char* endpoint = "127.0.0.1:50052") {
    tree.file("/proc/net/tcp", kTcpHead + tcp);
    return find_local_worker(tree.root(), endpoint);
  }

  MadeUpTree tree;
  std::string tcp;
};

TEST_F(LocalWorkers, OneIsFoundWithWhatItHasMapped) {
  listen(4711);
  process(tree, 20, 1, "stranger", {"/usr/lib/libcuda.so.1"}, {"socket:[47]", "/dev/nvidia0"});
  process(tree, 21, 1, "ggml-rpc-server", {"/opt/libggml-cpu-haswell.so", "/opt/libggml-base.so"},
          {"/dev/null", "socket:[4711]"});
  const LocalWorker worker = find().value_or(LocalWorker());
  EXPECT_EQ(worker.endpoint, "127.0.0.1:50052");
  EXPECT_EQ(worker.process, "ggml-rpc-server");
  EXPECT_EQ(worker.libraries, (Names{"libggml-base.so", "libggml-cpu-haswell.so"}));
  EXPECT_TRUE(worker.device_nodes.empty());
}

TEST_F(LocalWorkers, AllHoldersOfThePortCount) {
  listen(4711);
  listen(4712);
  process(tree, 21, 1, "rpc", {"/opt/libggml-cpu.so"}, {"socket:[4711]"});
  process(tree, 22, 1, "rpc", {"/opt/libggml-cuda.so"}, {"socket:[4712]", "/dev/nvidia0"});
  const LocalWorker worker = find().value_or(LocalWorker());
  EXPECT_EQ(worker.libraries, (Names{"libggml-cpu.so", "libggml-cuda.so"}));
  EXPECT_EQ(worker.device_nodes, Names{"/dev/nvidia0"});
}

TEST_F(LocalWorkers, UnknownWhereTheHolderCannotBeSeen) {
  process(tree, 21, 1, "rpc", {"/opt/libggml-cpu.so"}, {"socket:[4711]"});
  EXPECT_FALSE(find());  // nobody listens
  listen(4711);
  EXPECT_TRUE(find());
  EXPECT_FALSE(find("gpuhost:50052"));
  EXPECT_FALSE(find("127.0.0.1:50053"));
  listen(4712);  // somebody else's process, whose descriptors we may not list
  EXPECT_FALSE(find());
}

TEST_F(LocalWorkers, AForwarderSpeaksForNobody) {
  listen(4711);
  process(tree, 21, 1, "ssh", {"/usr/lib/libcrypto.so.3"}, {"socket:[4711]"});
  EXPECT_FALSE(find());
  process(tree, 22, 1, "rpc", {"/opt/libggml-cpu.so"}, {"socket:[4711]"});
  EXPECT_FALSE(find());
}

TEST(LocalWorkersLive, SocketsOfARealKernelAreFound) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const auto tcp = os::read_file("/proc/net/tcp", 16 << 20);
  const auto open = os::open_files("/", ::getpid()).value_or(Names());
  const auto worker = find_local_worker("/", "localhost:" + port);
  ::close(fd);
  const auto inodes = listener_inodes(
      tcp.value_or(""), parse_loopback("127.0.0.1:" + port).value_or(LocalEndpoint()));
  ASSERT_EQ(inodes.size(), 1U);
  EXPECT_NE(std::ranges::find(open, "socket:[" + inodes[0] + "]"), open.end());
  EXPECT_FALSE(worker);  // this test has no ggml
}

}  // namespace
}  // namespace picchio

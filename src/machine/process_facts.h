// What could have run on a GPU at all: the libraries that a process tree has mapped and the device
// nodes that it holds open. All GPU work on Linux goes through an open device node, so a tree that
// has none computed on the CPU, whatever it has loaded; a node alone proves no work.
#pragma once

#include "evidence/run.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Of the tree below `pid`. Only names that tell something (ggml backends, GPU drivers and their
/// runtimes), each once, sorted, at most 64 of a kind. `readable` stays false, and the lists empty,
/// when any process of the tree may not be looked at: half a tree proves nothing. `workers` is left
/// alone.
[[nodiscard]] ProcessFacts read_process_facts(const std::string& root, int pid);

/// The ggml worker behind an RPC endpoint of this machine ("127.0.0.1:50052", "localhost:50052",
/// "[::1]:50052"). Absent when the endpoint is not loopback, nobody listens, or any holder of the
/// port may not be looked at or has mapped no ggml library: a forwarder (ssh -L, a container's
/// proxy) listens here and computes elsewhere. Several holders count as one worker with all their
/// libraries and nodes.
[[nodiscard]] std::optional<LocalWorker> find_local_worker(const std::string& root,
                                                           std::string_view endpoint);

/// Those of this machine among the endpoints that an engine's arguments name ("--rpc A,B").
[[nodiscard]] std::vector<LocalWorker> local_workers(const std::string& root,
                                                     const std::vector<std::string>& arguments);

}  // namespace picchio

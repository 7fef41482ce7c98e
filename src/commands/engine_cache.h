// What binaries said of themselves, kept between runs: asking llama.cpp for its help loads every
// backend, which takes longer than picchio's own start.
#pragma once

#include "commands/engine_probe.h"
#include "os/file.h"

#include <optional>
#include <string>

namespace picchio {

/// Absent: never asked, the file changed since (size, time stamp or inode), or no readable cache.
[[nodiscard]] std::optional<ProbedEngine> recall_engine(const std::string& path,
                                                        const os::FileIdentity& identity);

/// Best effort: with no cache the binary is asked again next time.
void remember_engine(const ProbedEngine& engine, const os::FileIdentity& identity);

}  // namespace picchio

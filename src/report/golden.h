// Goldens of this folder's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace picchio {

inline std::string file_text(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// `got` is what testdata/`name` holds; UPDATE_GOLDEN=1 rewrites it, and the diff is reviewed.
inline void expect_golden(const std::string& name, const std::string& got) {
  const std::string path = std::string(PICCHIO_SOURCE_DIR) + "/src/report/testdata/" + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << got;
    return;
  }
  EXPECT_EQ(file_text(path), got) << "UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace picchio

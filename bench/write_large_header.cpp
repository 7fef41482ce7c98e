// write_large_header PATH: a model with a vocabulary of 262,144 words, whose weights are a hole in
// the file: about 11 MB on disk, 3 GB to look at.
#include "large_header.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_large_header PATH\n", stderr);
    return 2;
  }
  const picchio::gguf::GgufFile model = picchio::large_model();
  const std::string header = model.header();
  std::error_code error;
  {
    std::ofstream out(argv[1], std::ios::binary);
    if (!out.write(header.data(), static_cast<std::streamsize>(header.size())).flush()) {
      error = std::make_error_code(std::errc::io_error);
    }
  }
  const std::uint64_t bytes = header.size() + model.data_bytes();
  if (!error) std::filesystem::resize_file(argv[1], bytes, error);
  if (error) {
    std::fprintf(stderr, "cannot write '%s': %s\n", argv[1], error.message().c_str());
    return 1;
  }
  std::printf("header %zu bytes, file %llu bytes\n", header.size(),
              static_cast<unsigned long long>(bytes));
  return 0;
}

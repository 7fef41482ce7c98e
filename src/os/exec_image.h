// argv and envp as execve() wants them, made before fork() because nothing may allocate after it.
// Private to os/.
#pragma once

#include "base/result.h"
#include "os/process.h"

#include <string>
#include <vector>

namespace picchio::os {

class ExecImage {
 public:
  explicit ExecImage(const SpawnOptions& options);
  ExecImage(const ExecImage&) = delete;
  ExecImage& operator=(const ExecImage&) = delete;
  ~ExecImage() = default;

  [[nodiscard]] const char* path() const { return argv_.front(); }
  [[nodiscard]] char* const* argv() const { return argv_.data(); }
  [[nodiscard]] char* const* envp() const { return envp_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

/// Why a program could not be run, from execve()'s errno.
[[nodiscard]] std::unexpected<Error> exec_failure(const std::string& path, int error);

}  // namespace picchio::os

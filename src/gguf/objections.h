// What an engine refuses a file for although it can be read.
#pragma once

#include "base/result.h"
#include "gguf/header.h"

#include <string>
#include <vector>

namespace picchio::gguf {

enum class Objection {
  byte_order,
  version,
  nested_array,
  value,  // a key of the wrong type, or with a number that cannot be
  long_name,
  removed_type,
  unknown_type,
  order,  // of the tensors' data
  gap,
  architecture,
  counts,  // of blocks and experts
};

/// Takes the objections of one reading. What Accept::loadable reads is what raises none: there the
/// first one is the error that ends the reading. In Accept::readable they are noted, and reading
/// goes on.
class Objections {
 public:
  explicit Objections(Accept accept) : accept_(accept) {}

  /// `error` itself in Accept::loadable; otherwise success, with the error's sentence kept.
  [[nodiscard]] Result<> raise(Objection kind, std::unexpected<Error> error);

  [[nodiscard]] bool none() const { return noted_.empty(); }
  /// The first sentence of each kind, in the order they were raised in, with the number of the
  /// others: "tensor 'x' has type 57 at byte 45, which is not known (and 3 more)".
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  struct Noted {
    Objection kind;
    std::string sentence;
    std::int64_t more = 0;
  };

  Accept accept_;
  std::vector<Noted> noted_;
};

}  // namespace picchio::gguf

#include "gguf/objections.h"

#include <algorithm>
#include <utility>

namespace picchio::gguf {

Result<> Objections::raise(Objection kind, std::unexpected<Error> error) {
  if (accept_ == Accept::loadable) return error;
  const auto known = std::ranges::find(noted_, kind, &Noted::kind);
  if (known != noted_.end()) {
    ++known->more;
  } else {
    noted_.push_back({kind, std::move(error).error().message});
  }
  return {};
}

std::vector<std::string> Objections::sentences() const {
  std::vector<std::string> all;
  for (const Noted& noted : noted_) {
    all.push_back(noted.more == 0 ? noted.sentence
                                  : fmt::format("{} (and {} more)", noted.sentence, noted.more));
  }
  return all;
}

}  // namespace picchio::gguf

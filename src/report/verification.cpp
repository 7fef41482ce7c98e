#include "report/verification.h"

#include "base/text.h"
#include "report/json_parts.h"
#include "report/layout.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace picchio {
namespace {

constexpr std::size_t kColumns = 80;

void paragraph(std::string& out, const std::string& text) {
  for (const std::string& line : report::wrap(text, kColumns - 2, 4)) out += "  " + line + "\n";
}

}  // namespace

std::string verification_text(const std::vector<VerifiedBlock>& blocks) {
  std::string out;
  for (const VerifiedBlock& block : blocks) {
    const std::size_t count = block.contradictions.size();
    const std::string head =
        count == 0 ? "PASS" : fmt::format("{} CONTRADICTION{}", count, count == 1 ? "" : "S");
    out += fmt::format("{}: {}\n", plain(block.label), head);
    for (const auto& [check, text] : block.contradictions) {
      paragraph(out, fmt::format("{}: {}", check, plain(text)));
    }
    if (!block.held.empty()) {
      paragraph(out, fmt::format("holds: {}", fmt::join(block.held, ", ")));
    } else if (count == 0) {
      out += "  nothing in it can be checked against anything else\n";
    }
    for (const std::string& line : block.unread) {
      paragraph(out, fmt::format("not read: {}", fit(plain(line), 66)));
    }
  }
  return out;
}

std::string verification_json(const std::vector<VerifiedBlock>& blocks) {
  report::Json rows = report::Json::array();
  for (const VerifiedBlock& block : blocks) {
    report::Json contradictions = report::Json::array();
    for (const auto& [check, text] : block.contradictions) {
      contradictions.push_back({{"check", check}, {"text", text}});
    }
    rows.push_back({{"block", block.label},
                    {"verdict", block.contradictions.empty() ? "PASS" : "CONTRADICTION"},
                    {"contradictions", contradictions},
                    {"held", block.held},
                    {"unread", block.unread}});
  }
  report::Json out;
  out["schema"] = "picchio.verify.v1";
  out["blocks"] = rows;
  return report::dump(out);
}

}  // namespace picchio

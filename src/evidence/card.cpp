#include "evidence/card.h"

#include "base/text.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

bool is_label_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// "Q4_K_M", "IQ2_XXS", "BF16", "MXFP4": the shapes that labels have.
bool is_label(std::string_view word) {
  for (std::string_view exact : {"F16", "BF16", "F32", "FP16", "FP32"}) {
    if (word == exact) return true;
  }
  for (std::string_view head : {"MXFP4", "NVFP4"}) {
    if (word.starts_with(head)) return true;
  }
  for (std::string_view head : {"IQ", "TQ", "Q"}) {
    std::string_view rest = word;
    if (!take_prefix(rest, head)) continue;
    return rest.size() >= 2 && rest[0] >= '1' && rest[0] <= '8' && rest[1] == '_';
  }
  return false;
}

/// "output.weight", "output_norm.bias", "output_hc_fn.weight": the one head and what belongs to it.
bool is_the_output(std::string_view name) {
  for (std::string_view usual : {"output.", "output_norm", "cls", "output_hc"}) {
    if (name.starts_with(usual)) return true;
  }
  return false;
}

bool is_unusual(const CardTensor& tensor, CardKind kind) {
  switch (tensor.part) {
    case TensorPart::next_token:
      return true;
    case TensorPart::vision:
      return kind == CardKind::model;
    case TensorPart::other:
      return kind == CardKind::model || kind == CardKind::projector;
    case TensorPart::output:
      return kind == CardKind::model && !is_the_output(tensor.name);
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(CardKind kind) {
  switch (kind) {
    case CardKind::model:
      return "model";
    case CardKind::adapter:
      return "LoRA adapter";
    case CardKind::projector:
      return "multimodal projector";
    case CardKind::importance_matrix:
      return "importance matrix";
    case CardKind::other:
      return "other";
  }
  return "other";
}

std::string_view name_of(TensorPart part) {
  switch (part) {
    case TensorPart::embedding:
      return "embedding";
    case TensorPart::attention:
      return "attention";
    case TensorPart::recurrent:
      return "recurrent";
    case TensorPart::ffn:
      return "ffn";
    case TensorPart::experts:
      return "experts";
    case TensorPart::shared_experts:
      return "shared experts";
    case TensorPart::router:
      return "router";
    case TensorPart::norm:
      return "norm";
    case TensorPart::residual:
      return "residual streams";
    case TensorPart::output:
      return "output";
    case TensorPart::next_token:
      return "next-token head";
    case TensorPart::vision:
      return "vision";
    case TensorPart::adapter:
      return "adapter";
    case TensorPart::other:
      return "other";
  }
  return "other";
}

std::vector<std::size_t> unusual_tensors(const Card& card) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < card.tensors.size(); ++i) {
    if (is_unusual(card.tensors[i], card.kind)) out.push_back(i);
  }
  return out;
}

std::optional<double> bits_per_weight(const Card& card) {
  if (card.elements <= 0) return std::nullopt;
  return 8 * static_cast<double>(card.tensor_bytes) / static_cast<double>(card.elements);
}

std::string label_of_file_type(std::string_view words) {
  std::string_view rest = words;
  (void)take_prefix(rest, "(guessed) ");
  (void)take_prefix(rest, "all ");
  // The engine's words that are not its quantizer's label with blanks.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOdd = {{
      {"IQ3_S mix", "IQ3_M"},
      {"MXFP4 MoE", "MXFP4_MOE"},
  }};
  for (const auto& [text, label] : kOdd) {
    if (rest.starts_with(text)) return std::string(label);
  }
  const auto blank = rest.find(' ');
  std::string label(rest.substr(0, blank));
  if (!is_label(label)) return {};
  if (rest.ends_with("- Small")) label += "_S";
  if (rest.ends_with("- Medium") && label != "Q2_K") label += "_M";
  if (rest.ends_with("- Large")) label += "_L";
  return label;
}

LabelPlace label_place(std::string_view file_name) {
  const std::string name = upper(file_name);
  LabelPlace found;
  const std::size_t folder = name.find_last_of("/\\");
  for (std::size_t at = folder == std::string::npos ? 0 : folder + 1; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_label_character(name[end])) ++end;
    // The last one: "F16-converted-Q4_K_M.gguf". An underscore joins as well as it parts, so the
    // longest tail of a word that is a label counts: "llama_Q4_K_M".
    for (std::size_t begin = at; begin < end; ++begin) {
      const bool starts = begin == at || name[begin - 1] == '_';
      if (!starts || !is_label(std::string_view(name).substr(begin, end - begin))) continue;
      found = {begin, end - begin};
      break;
    }
    at = end + 1;
  }
  return found;
}

std::string label_in_name(std::string_view file_name) {
  const LabelPlace place = label_place(file_name);
  std::string found = upper(file_name.substr(place.begin, place.size));
  // What people write for the engine's F16 and F32.
  if (found == "FP16") return "F16";
  if (found == "FP32") return "F32";
  return found;
}

}  // namespace picchio

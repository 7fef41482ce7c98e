#include "verdict/bandwidth.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <span>

namespace picchio {

extern const std::string_view kBandwidthTable;  // data/bandwidth.csv

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kHeader =
    "name,gb_per_s,memory,gib,size_gib,gpu_cores,confidence,source";
constexpr std::size_t kColumns = 8;

// They stand in one driver's name of a device and not in another's, and tell no model from its
// neighbour: so does "VF", a whole device that was handed to a guest. "Laptop", "Max-Q", "Ti",
// "SUPER", "PCIe" and their like do.
constexpr std::string_view kVendorWords[] = {"nvidia", "geforce",     "tesla", "amd", "ati",
                                             "radeon", "intel",       "apple", "tm",  "gpu",
                                             "vf",     "corporation", "inc",   "oam", "graphics"};

// A part of a device: the memory that it shares is at most the whole one's.
constexpr std::string_view kSlice = "mig";

// Memory sizes that a total can differ from: the driver keeps some for itself, and a backend
// reports what is left.
constexpr double kMemoryApart = 0.15;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '.';
}

/// "Navi 31 [Radeon RX 7900 XT/7900 XTX]" is called what stands in the brackets; "(TM)", "(RADV
/// NAVI31)" and "(DG2)" belong to no name.
std::string bare(std::string_view name) {
  if (const auto inner = between(name, "[", "]")) name = *inner;
  std::string out;
  int depth = 0;
  for (const char c : lower(name)) {
    if (c == '(') ++depth;
    if (depth == 0) out += c;
    if (c == ')' && depth > 0) {
      --depth;
      out += ' ';
    }
  }
  return out;
}

Words words_of(std::string_view text) {
  Words out;
  std::string word;
  const auto finish = [&] {
    if (!word.empty() && std::ranges::find(kVendorWords, word) == std::end(kVendorWords)) {
      out.push_back(word);
    }
    word.clear();
  };
  for (const char c : text) {
    if (is_word_char(c)) {
      word += c;
    } else {
      finish();
    }
  }
  finish();
  return out;
}

/// An Apple chip's name is two letters and digits: "M4" must not be found in another vendor's.
Words words_with_maker(std::string_view text) {
  Words out = words_of(text);
  if (text.contains("apple")) out.insert(out.begin(), "apple");
  return out;
}

/// "80gb" -> 80
std::optional<std::int64_t> gib_word(std::string_view word) {
  if (!word.ends_with("gb")) return std::nullopt;
  return parse_int(word.substr(0, word.size() - 2));
}

/// Whether `row` accounts for every word of the name, one of its memory size included.
bool explains(const BandwidthRow& row, const Words& words) {
  const auto found = std::ranges::search(words, row.words);
  if (found.empty()) return false;
  const auto harmless = [&](const std::string& word) {
    const auto gib = gib_word(word);
    return gib && (!row.memory_gib || *row.memory_gib == *gib);
  };
  return std::all_of(words.begin(), found.begin(), harmless) &&
         std::all_of(found.end(), words.end(), harmless);
}

/// The rows of the longest name that explains `words`.
std::vector<const BandwidthRow*> rows_for(const Words& words) {
  std::vector<const BandwidthRow*> out;
  std::size_t longest = 0;
  for (const BandwidthRow& row : bandwidth_table()) {
    if (row.words.size() < longest || !explains(row, words)) continue;
    if (row.words.size() > longest) out.clear();
    longest = row.words.size();
    out.push_back(&row);
  }
  return out;
}

void keep_memory(std::vector<const BandwidthRow*>& rows, std::int64_t memory_bytes) {
  const double gib = static_cast<double>(memory_bytes) / (1024.0 * 1024 * 1024);
  const auto fits = [&](const BandwidthRow* row) {
    if (!row->memory_gib) return true;
    const auto own = static_cast<double>(*row->memory_gib);
    return gib > own * (1 - kMemoryApart) && gib < own * (1 + kMemoryApart);
  };
  // A size that nobody sold tells nothing: a slice of a card, a limit that somebody set.
  if (std::ranges::any_of(rows, fits)) std::erase_if(rows, [&](auto* row) { return !fits(row); });
}

void keep_cores(std::vector<const BandwidthRow*>& rows, int gpu_cores) {
  const auto fits = [&](const BandwidthRow* row) {
    return !row->gpu_cores || *row->gpu_cores == gpu_cores;
  };
  if (std::ranges::any_of(rows, fits)) std::erase_if(rows, [&](auto* row) { return !fits(row); });
}

/// Where all rows agree.
std::optional<std::int64_t> size_of(const std::vector<const BandwidthRow*>& rows) {
  const std::optional<std::int64_t> gib = rows.front()->size_gib;
  const bool one = std::ranges::all_of(rows, [&](auto* row) { return row->size_gib == gib; });
  if (!gib || !one) return std::nullopt;
  return *gib << 30U;
}

std::optional<MemoryPeak> peak_of(std::vector<const BandwidthRow*> rows,
                                  std::optional<std::int64_t> memory_bytes,
                                  std::optional<int> gpu_cores) {
  if (rows.empty()) return std::nullopt;
  if (memory_bytes) keep_memory(rows, *memory_bytes);
  if (gpu_cores) keep_cores(rows, *gpu_cores);
  const auto fastest = std::ranges::max_element(rows, {}, &BandwidthRow::bytes_per_second);
  const bool one = std::ranges::all_of(rows, [&](const BandwidthRow* row) {
    return row->bytes_per_second >= (*fastest)->bytes_per_second;
  });
  return MemoryPeak{.bytes_per_second = (*fastest)->bytes_per_second,
                    .row = (*fastest)->name,
                    .own_memory = (*fastest)->own_memory,
                    .size_bytes = size_of(rows),
                    .sure = one && (*fastest)->confidence != Confidence::low};
}

/// "rx 7900 xt" and "7900 xtx": the later model's name begins where the first one's number does.
std::vector<const BandwidthRow*> rows_for_next(const Words& first, const Words& next) {
  for (std::size_t kept = first.size() + 1; kept-- > 0;) {
    Words words(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(kept));
    words.insert(words.end(), next.begin(), next.end());
    if (auto rows = rows_for(words); !rows.empty()) return rows;
  }
  return {};
}

/// The fastest model of "A/B/C"; absent when one of them is not known, as it may be the fastest.
std::optional<MemoryPeak> fastest_of(std::span<const std::string_view> models,
                                     std::optional<std::int64_t> memory_bytes) {
  const Words first = words_with_maker(models.front());
  std::optional<MemoryPeak> out = peak_of(rows_for(first), memory_bytes, std::nullopt);
  for (const std::string_view model : models.subspan(1)) {
    const auto peak = peak_of(rows_for_next(first, words_with_maker(model)), memory_bytes, {});
    if (!out || !peak) return std::nullopt;
    const bool equal = peak->bytes_per_second == out->bytes_per_second;
    const bool sure = equal && out->sure && peak->sure;
    const bool one_size = peak->size_bytes == out->size_bytes;
    if (peak->bytes_per_second > out->bytes_per_second) out = peak;
    out->sure = sure;
    if (!one_size) out->size_bytes.reset();
  }
  return out;
}

Result<BandwidthRow> parse_row(std::string_view line, std::size_t number) {
  const std::vector<std::string_view> fields = split(line, ',');
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::malformed, "line {} of the bandwidth table: {}", number, what);
  };
  if (fields.size() != kColumns) return bad("not eight fields");
  BandwidthRow row;
  row.name = fields[0];
  row.words = words_with_maker(bare(fields[0]));
  if (row.words.empty()) return bad("a name without a word of its own");
  const auto rate = parse_double(fields[1]);
  if (!rate || *rate <= 0) return bad("no bandwidth");
  row.bytes_per_second = *rate * 1e9;
  if (fields[2] != "own" && fields[2] != "shared") return bad("memory is neither own nor shared");
  row.own_memory = fields[2] == "own";
  row.memory_gib = parse_int(fields[3]);
  if (!row.memory_gib && !fields[3].empty()) return bad("no memory size");
  row.size_gib = parse_int(fields[4]);
  if (!row.size_gib && !fields[4].empty()) return bad("no size");
  if (const auto cores = parse_int(fields[5])) {
    row.gpu_cores = static_cast<int>(*cores);
  } else if (!fields[5].empty()) {
    return bad("no number of cores");
  }
  constexpr std::array kWords = {"checked", "general", "low"};
  const auto* word = std::ranges::find(kWords, fields[6]);
  if (word == kWords.end()) return bad("no such confidence");
  row.confidence = static_cast<Confidence>(word - kWords.begin());
  row.source = fields[7];
  return row;
}

}  // namespace

Result<std::vector<BandwidthRow>> parse_bandwidth_table(std::string_view text) {
  const std::vector<std::string_view> lines = split_lines(text);
  if (lines.empty() || lines.front() != kHeader) {
    return fail(ErrorKind::malformed, "line 1 of the bandwidth table is not '{}'", kHeader);
  }
  std::vector<BandwidthRow> rows;
  rows.reserve(lines.size());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Result<BandwidthRow> row = parse_row(lines[i], i + 1);
    if (!row) return std::unexpected(std::move(row.error()));
    rows.push_back(*std::move(row));
  }
  return rows;
}

const std::vector<BandwidthRow>& bandwidth_table() {
  // A test reads the whole file: a program that was built has a table that can be read.
  static const std::vector<BandwidthRow> table =
      parse_bandwidth_table(kBandwidthTable).value_or(std::vector<BandwidthRow>());
  return table;
}

std::optional<MemoryPeak> find_peak(std::string_view name, std::optional<std::int64_t> memory_bytes,
                                    std::optional<int> gpu_cores) {
  const std::string text = bare(name);
  const std::vector<std::string_view> models = split(text, '/');
  if (models.size() > 1) return fastest_of(models, memory_bytes);
  Words words = words_with_maker(text);
  const auto slice = std::ranges::find(words, kSlice);
  const bool whole = slice == words.end();
  words.erase(slice, words.end());
  std::optional<MemoryPeak> out =
      peak_of(rows_for(words), whole ? memory_bytes : std::nullopt, gpu_cores);
  if (out && !whole) {
    out->sure = false;
    out->size_bytes.reset();
  }
  return out;
}

bool same_device_name(std::string_view a, std::string_view b) {
  const Words words = words_with_maker(bare(a));
  return !words.empty() && words == words_with_maker(bare(b));
}

}  // namespace picchio

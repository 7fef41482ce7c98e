#include "meters/attribute.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace picchio::meters {
namespace {

constexpr std::int64_t kMaxAttribute = 64 << 10;
constexpr std::size_t kPage = 4096;

// A reason that needs no path: "gpu_busy_percent: operation not supported".
std::string why(std::string_view name, const Error& error) {
  if (error.kind == ErrorKind::not_found) return fmt::format("the driver has no {}", name);
  if (error.kind == ErrorKind::denied) return fmt::format("{} may be read by root only", name);
  const std::string_view message = error.message;
  const auto colon = message.rfind(": ");
  return fmt::format(
      "{}: {}", name,
      colon == std::string_view::npos ? "cannot be read" : message.substr(colon + 2));
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  text = trim(text);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Attribute Attribute::open(const std::string& dir, std::initializer_list<std::string_view> names,
                          bool ask) {
  Attribute attribute;
  attribute.why_missing_.clear();
  std::array<char, kPage> space{};
  for (const std::string_view name : names) {
    auto file = os::KeptFile::open(fmt::format("{}/{}", dir, name));
    Error trouble;
    if (!file) {
      trouble = file.error();
    } else if (const auto read = ask ? file->read(space) : Result<std::string_view>(); !read) {
      trouble = read.error();
    } else {
      attribute.file_ = std::move(*file);
      attribute.why_missing_.clear();
      return attribute;
    }
    // Of several names the one that is there says more than those that are not.
    if (attribute.why_missing_.empty() || trouble.kind != ErrorKind::not_found) {
      attribute.why_missing_ = why(name, trouble);
    }
  }
  return attribute;
}

std::optional<std::string> Attribute::bytes() const {
  if (!file_) return std::nullopt;
  std::array<char, kPage> space{};
  const auto read = file_->read(space);
  if (!read) return std::nullopt;
  return std::string(*read);
}

std::optional<std::string> Attribute::text() const {
  const auto all = bytes();
  if (!all) return std::nullopt;
  return std::string(trim(*all));
}

std::optional<std::int64_t> Attribute::number() const {
  const auto all = bytes();
  return all ? number_in<std::int64_t>(*all) : std::nullopt;
}

std::optional<std::uint64_t> Attribute::counter() const {
  const auto all = bytes();
  return all ? number_in<std::uint64_t>(*all) : std::nullopt;
}

std::optional<std::string> attribute_text(const std::string& path) {
  const auto text = os::read_file(path, kMaxAttribute);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<std::int64_t> attribute_number(const std::string& path) {
  const auto text = attribute_text(path);
  return text ? number_in<std::int64_t>(*text) : std::nullopt;
}

std::string under(const std::string& root, std::string_view path) {
  return (root.ends_with('/') ? root.substr(0, root.size() - 1) : root) + std::string(path);
}

Attribute runtime_status_of(const std::string& device_dir) {
  return Attribute::open(device_dir, {"power/runtime_status"}, false);
}

PowerState power_state(const Attribute& runtime_status) {
  if (!runtime_status) return PowerState::awake;
  const auto status = runtime_status.text();
  if (!status) return PowerState::gone;
  return *status == "suspended" || *status == "suspending" ? PowerState::asleep : PowerState::awake;
}

bool not_readable(const Attribute& runtime_status, GpuReading& reading) {
  const PowerState state = power_state(runtime_status);
  reading.asleep = state == PowerState::asleep;
  if (state == PowerState::gone) reading.lost = "the device is gone";
  return state != PowerState::awake;
}

std::string hwmon_of(const std::string& device_dir) {
  const auto names = os::list_dir(device_dir + "/hwmon");
  if (!names || names->empty()) return {};
  return fmt::format("{}/hwmon/{}", device_dir, names->front());
}

std::optional<std::uint64_t> MovingCounter::add(std::optional<std::uint64_t> value) {
  if (!value) return std::nullopt;
  if (last_ && *value != *last_) {
    moved_ = true;
    if (*value > *last_) sum_ += *value - *last_;
  }
  last_ = value;
  if (!moved_) return std::nullopt;
  return sum_;
}

}  // namespace picchio::meters

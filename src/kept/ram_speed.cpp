#include "kept/ram_speed.h"

#include "kept/json_archive.h"
#include "kept/set_aside.h"
#include "os/file.h"

#include <algorithm>
#include <cmath>

namespace picchio::kept {
namespace {

constexpr std::string_view kSchema = "picchio.ram-speed.v1";
constexpr std::int64_t kMostBytes = std::int64_t{256} << 10;

std::string path_in(const std::string& cache_folder) { return cache_folder + "/ram-speed.json"; }

bool same_machine(const RamSpeed& speed, const Machine& machine) {
  return speed.chip == machine.chip && speed.os == machine.os &&
         speed.ram_bytes == machine.ram_bytes;
}

Result<std::vector<RamSpeed>> read_speeds(const std::string& cache_folder) {
  const std::string path = path_in(cache_folder);
  const Result<std::optional<std::string>> text = read_cache_file(path, kMostBytes);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::vector<RamSpeed>{};
  Result<std::vector<RamSpeed>> speeds = ram_speeds_from_json(**text);
  if (!speeds) {
    return fail(ErrorKind::malformed, "cannot read '{}': {}", path, speeds.error().message);
  }
  return speeds;
}

}  // namespace

template <class A>
void describe(A& archive, Ref<A, RamSpeed> value) {
  archive("chip", value.chip);
  archive("os", value.os);
  archive("ram_bytes", value.ram_bytes);
  archive("bytes_per_second", value.bytes_per_second);
}

std::vector<RamSpeed> with_ram_speed(std::vector<RamSpeed> speeds, RamSpeed speed) {
  std::erase_if(speeds, [&](const RamSpeed& old) {
    return old.chip == speed.chip && old.os == speed.os && old.ram_bytes == speed.ram_bytes;
  });
  speeds.insert(speeds.begin(), std::move(speed));
  if (speeds.size() > kMostRamSpeeds) speeds.resize(kMostRamSpeeds);
  return speeds;
}

std::string ram_speeds_to_json(const std::vector<RamSpeed>& speeds) {
  Json out;
  out["schema"] = kSchema;
  out["machines"] = Writer::encode(speeds);
  return to_lines(out);
}

Result<std::vector<RamSpeed>> ram_speeds_from_json(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  const bool ours = json->is_object() && json->contains("schema") && (*json)["schema"] == kSchema;
  if (!ours) return fail(ErrorKind::malformed, "its schema is not '{}'", kSchema);
  std::vector<RamSpeed> speeds;
  Reader reader(*json);
  reader("machines", speeds);
  if (reader.error()) return fail(ErrorKind::malformed, "{}", *reader.error());
  for (const RamSpeed& speed : speeds) {
    if (!std::isfinite(speed.bytes_per_second) || speed.bytes_per_second <= 0) {
      return fail(ErrorKind::malformed, "a speed that is none");
    }
  }
  return speeds;
}

Result<std::optional<double>> recall_ram_speed(const std::string& cache_folder,
                                               const Machine& machine) {
  if (!machine.ram_bytes) return std::nullopt;
  const auto speeds = read_speeds(cache_folder);
  if (!speeds) return std::unexpected(speeds.error());
  const auto found = std::ranges::find_if(
      *speeds, [&](const RamSpeed& speed) { return same_machine(speed, machine); });
  if (found == speeds->end()) return std::nullopt;
  return found->bytes_per_second;
}

Result<> remember_ram_speed(const std::string& cache_folder, const Machine& machine,
                            double bytes_per_second, std::string* note) {
  if (!machine.ram_bytes) {
    return fail(ErrorKind::unsupported, "this machine does not tell how much RAM it has");
  }
  if (const Result<> made = os::make_dirs(cache_folder); !made) return made;
  Result<std::vector<RamSpeed>> speeds = read_speeds(cache_folder);
  if (!speeds) {
    const auto moved = set_aside(path_in(cache_folder), speeds.error(), note);
    if (!moved) return moved;
    speeds = std::vector<RamSpeed>{};
  }
  RamSpeed speed{machine.chip, machine.os, *machine.ram_bytes, bytes_per_second};
  return os::write_file_atomic(
      path_in(cache_folder),
      ram_speeds_to_json(with_ram_speed(*std::move(speeds), std::move(speed))), 0600);
}

}  // namespace picchio::kept

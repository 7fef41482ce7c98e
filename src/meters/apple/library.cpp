#include "meters/apple/library.h"

#include "os/library.h"

#include <array>

namespace picchio::meters::apple {
namespace {

enum Where : std::size_t { core, iokit, report, system };

struct Place {
  const char* name;    // in a folder of fakes
  const char* system;  // where macOS's loader knows it
};
constexpr std::array<Place, 4> kLibraries = {{
    {"CoreFoundation", "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"},
    {"IOKit", "/System/Library/Frameworks/IOKit.framework/IOKit"},
    {"libIOReport.dylib", "/usr/lib/libIOReport.dylib"},
    {"libSystem.B.dylib", "/usr/lib/libSystem.B.dylib"},
}};

// The one list of names: visit(library, name, pointer) for each.
template <class Visit>
void each_function(Functions& f, const Visit& visit) {
  visit(core, "CFRelease", f.release);
  visit(core, "CFGetTypeID", f.type_of);
  visit(core, "CFStringGetTypeID", f.string_type);
  visit(core, "CFNumberGetTypeID", f.number_type);
  visit(core, "CFDictionaryGetTypeID", f.dictionary_type);
  visit(core, "CFArrayGetTypeID", f.array_type);
  visit(core, "CFDataGetTypeID", f.data_type);
  visit(core, "CFStringCreateWithCString", f.string_create);
  visit(core, "CFStringGetCString", f.string_bytes);
  visit(core, "CFNumberGetValue", f.number_value);
  visit(core, "CFDictionaryGetValue", f.dictionary_value);
  visit(core, "CFArrayGetCount", f.array_count);
  visit(core, "CFArrayGetValueAtIndex", f.array_value);
  visit(core, "CFDataGetLength", f.data_length);
  visit(core, "CFDataGetBytePtr", f.data_bytes);

  visit(iokit, "IOServiceMatching", f.matching);
  visit(iokit, "IOServiceGetMatchingServices", f.matching_services);
  visit(iokit, "IOIteratorNext", f.iterator_next);
  visit(iokit, "IOIteratorIsValid", f.iterator_valid);
  visit(iokit, "IOIteratorReset", f.iterator_reset);
  visit(iokit, "IOObjectRelease", f.io_release);
  visit(iokit, "IOObjectGetClass", f.class_of);
  visit(iokit, "IORegistryEntryGetName", f.name_of);
  visit(iokit, "IORegistryEntryGetRegistryEntryID", f.id_of);
  visit(iokit, "IORegistryEntryGetChildIterator", f.children);
  visit(iokit, "IORegistryEntryCreateCFProperty", f.property);

  visit(report, "IOReportCopyChannelsInGroup", f.channels_in_group);
  visit(report, "IOReportCreateSubscription", f.subscribe);
  visit(report, "IOReportCreateSamples", f.samples);
  visit(report, "IOReportCreateSamplesDelta", f.samples_delta);
  visit(report, "IOReportChannelGetChannelName", f.channel_name);
  visit(report, "IOReportChannelGetUnitLabel", f.channel_unit);
  visit(report, "IOReportSimpleGetIntegerValue", f.integer_value);
  visit(report, "IOReportStateGetCount", f.state_count);
  visit(report, "IOReportStateGetNameForIndex", f.state_name);
  visit(report, "IOReportStateGetResidency", f.state_residency);

  visit(system, "sysctlbyname", f.sysctl);
  visit(system, "notify_register_check", f.notify_register);
  visit(system, "notify_get_state", f.notify_state);
  visit(system, "notify_cancel", f.notify_cancel);
  visit(system, "proc_pidinfo", f.process_info);
}

}  // namespace

Functions load_functions(const std::string& folder, std::string_view without) {
  std::array<std::optional<os::DynamicLibrary>, kLibraries.size()> libraries;
  for (std::size_t i = 0; i < kLibraries.size(); ++i) {
    const std::string path =
        folder.empty() ? kLibraries[i].system : folder + "/" + kLibraries[i].name;
    const std::array names = {path.c_str()};
    if (auto loaded = os::DynamicLibrary::open(kLibraries[i].name, names)) {
      libraries[i] = *std::move(loaded);
    }
  }
  Functions functions;
  each_function(functions, [&](Where where, std::string_view name, auto*& into) {
    // What lacks it is known by the null pointer.
    if (libraries[where] && name != without) (void)libraries[where]->load(name.data(), into);
  });
  return functions;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  Functions unused;
  each_function(unused, [&](Where, std::string_view name, const auto&) { names.push_back(name); });
  return names;
}

bool Functions::reads_values() const {
  return release != nullptr && type_of != nullptr && string_type != nullptr &&
         number_type != nullptr && dictionary_type != nullptr && array_type != nullptr &&
         string_create != nullptr && string_bytes != nullptr && number_value != nullptr &&
         dictionary_value != nullptr && array_count != nullptr && array_value != nullptr;
}

bool Functions::reads_registry() const {
  return reads_values() && matching != nullptr && matching_services != nullptr &&
         iterator_next != nullptr && io_release != nullptr && property != nullptr;
}

bool Functions::reads_reports() const {
  return reads_values() && channels_in_group != nullptr && subscribe != nullptr &&
         samples != nullptr && samples_delta != nullptr && channel_name != nullptr;
}

Owned CoreFoundation::string(const char* text) const {
  return own(f_->string_create(nullptr, text, abi::kUtf8));
}

std::optional<std::string> CoreFoundation::text_of(abi::Cf object) const {
  if (object == nullptr || f_->type_of(object) != f_->string_type()) return std::nullopt;
  std::array<char, 256> text{};
  const auto room = static_cast<abi::Index>(text.size());
  if (f_->string_bytes(object, text.data(), room, abi::kUtf8) == 0) return std::nullopt;
  text.back() = '\0';
  return std::string(text.data());
}

std::optional<std::int64_t> CoreFoundation::number_of(abi::Cf object) const {
  if (object == nullptr || f_->type_of(object) != f_->number_type()) return std::nullopt;
  std::int64_t value = 0;
  // False: a loss in the conversion, as of a number with a fraction.
  if (f_->number_value(object, abi::kSInt64, &value) == 0) return std::nullopt;
  return value;
}

abi::Cf CoreFoundation::value_of(abi::Cf dictionary, const Owned& key) const {
  if (dictionary == nullptr || !key) return nullptr;
  if (f_->type_of(dictionary) != f_->dictionary_type()) return nullptr;
  return f_->dictionary_value(dictionary, key.get());
}

std::vector<abi::Cf> CoreFoundation::elements_of(abi::Cf array) const {
  std::vector<abi::Cf> elements;
  if (array == nullptr || f_->type_of(array) != f_->array_type()) return elements;
  const abi::Index count = f_->array_count(array);
  for (abi::Index i = 0; i < count; ++i) elements.push_back(f_->array_value(array, i));
  return elements;
}

abi::Cf CoreFoundation::element_of(abi::Cf array, std::size_t at) const {
  if (array == nullptr || f_->type_of(array) != f_->array_type()) return nullptr;
  const auto index = static_cast<abi::Index>(at);
  return index < f_->array_count(array) ? f_->array_value(array, index) : nullptr;
}

std::span<const unsigned char> CoreFoundation::bytes_of(abi::Cf data) const {
  const bool readable =
      f_->data_type != nullptr && f_->data_length != nullptr && f_->data_bytes != nullptr;
  if (!readable || data == nullptr || f_->type_of(data) != f_->data_type()) return {};
  const abi::Index length = f_->data_length(data);
  const unsigned char* const bytes = f_->data_bytes(data);
  if (bytes == nullptr || length <= 0) return {};
  return {bytes, static_cast<std::size_t>(length)};
}

}  // namespace picchio::meters::apple

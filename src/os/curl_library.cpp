#include "os/curl_library.h"

#include "os/library.h"

#include <array>

namespace picchio::os {
namespace {

// The flavours differ in their TLS library only. Without Debian's development package there is no
// plain "libcurl.so", and macOS has its own in /usr/lib.
constexpr std::array kNames = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib",
                               "/usr/lib/libcurl.4.dylib"};

Result<> fill(const DynamicLibrary& library, CurlLibrary& out) {
  Result<> done;
  // One line a function; the first that is missing is the error.
  const auto take = [&](const char* name, auto*& into) {
    if (done) done = library.load(name, into);
  };
  take("curl_global_init", out.global_init);
  take("curl_easy_init", out.easy_init);
  take("curl_easy_cleanup", out.easy_cleanup);
  take("curl_easy_reset", out.easy_reset);
  take("curl_easy_setopt", out.easy_setopt);
  take("curl_easy_getinfo", out.easy_getinfo);
  take("curl_easy_strerror", out.easy_strerror);
  take("curl_multi_init", out.multi_init);
  take("curl_multi_cleanup", out.multi_cleanup);
  take("curl_multi_add_handle", out.multi_add_handle);
  take("curl_multi_remove_handle", out.multi_remove_handle);
  take("curl_multi_perform", out.multi_perform);
  take("curl_multi_poll", out.multi_poll);
  take("curl_multi_info_read", out.multi_info_read);
  take("curl_slist_append", out.slist_append);
  take("curl_slist_free_all", out.slist_free_all);
  take("curl_url", out.url);
  take("curl_url_cleanup", out.url_cleanup);
  take("curl_url_get", out.url_get);
  take("curl_url_set", out.url_set);
  take("curl_free", out.free);
  return done;
}

}  // namespace

Result<CurlLibrary> CurlLibrary::load() {
  const auto library = DynamicLibrary::open("libcurl", kNames);
  if (!library) {
    return with_hint(std::unexpected(library.error()),
                     "install libcurl: 'apt install libcurl4', or your system's package of it");
  }
  CurlLibrary out;
  if (const auto filled = fill(*library, out); !filled) return std::unexpected(filled.error());
  // Counted by libcurl, and never undone: see DynamicLibrary.
  if (out.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return fail(ErrorKind::failed, "libcurl cannot be started");
  }
  return out;
}

}  // namespace picchio::os

// libcurl, loaded when the first request is made. Private to os/.
//
// Linking it costs every command: Debian's libcurl brings 31 other libraries (Kerberos, LDAP, SSH
// ...), which the loader maps and relocates before main() begins. See http.cpp for what it is used
// for; the figures are in the commit that brought this file.
#pragma once

#include "base/result.h"

#include <curl/curl.h>

namespace picchio::os {

struct CurlLibrary {
  decltype(::curl_global_init)* global_init = nullptr;
  decltype(::curl_easy_init)* easy_init = nullptr;
  decltype(::curl_easy_cleanup)* easy_cleanup = nullptr;
  decltype(::curl_easy_reset)* easy_reset = nullptr;
  decltype(::curl_easy_setopt)* easy_setopt = nullptr;
  decltype(::curl_easy_getinfo)* easy_getinfo = nullptr;
  decltype(::curl_easy_strerror)* easy_strerror = nullptr;
  decltype(::curl_multi_init)* multi_init = nullptr;
  decltype(::curl_multi_cleanup)* multi_cleanup = nullptr;
  decltype(::curl_multi_add_handle)* multi_add_handle = nullptr;
  decltype(::curl_multi_remove_handle)* multi_remove_handle = nullptr;
  decltype(::curl_multi_perform)* multi_perform = nullptr;
  decltype(::curl_multi_poll)* multi_poll = nullptr;
  decltype(::curl_multi_info_read)* multi_info_read = nullptr;
  decltype(::curl_slist_append)* slist_append = nullptr;
  decltype(::curl_slist_free_all)* slist_free_all = nullptr;
  decltype(::curl_url)* url = nullptr;
  decltype(::curl_url_cleanup)* url_cleanup = nullptr;
  decltype(::curl_url_get)* url_get = nullptr;
  decltype(::curl_url_set)* url_set = nullptr;
  decltype(::curl_free)* free = nullptr;

  [[nodiscard]] static Result<CurlLibrary> load();
};

}  // namespace picchio::os

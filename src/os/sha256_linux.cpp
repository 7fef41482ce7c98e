// OpenSSL's libcrypto, loaded when the first file is hashed: see curl_library.h for why it is not
// linked.
#include "os/library.h"
#include "os/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

namespace picchio::os {
namespace {

struct CryptoLibrary {
  decltype(::EVP_MD_CTX_new)* context_new = nullptr;
  decltype(::EVP_MD_CTX_free)* context_free = nullptr;
  decltype(::EVP_sha256)* sha256 = nullptr;
  decltype(::EVP_DigestInit_ex)* init = nullptr;
  decltype(::EVP_DigestUpdate)* update = nullptr;
  decltype(::EVP_DigestFinal_ex)* final = nullptr;
};

// These functions are the same in all of them.
constexpr std::array kNames = {"libcrypto.so.3", "libcrypto.so.4", "libcrypto.so.1.1"};

Result<CryptoLibrary> load_crypto() {
  const auto library = DynamicLibrary::open("OpenSSL's libcrypto", kNames);
  if (!library) {
    return with_hint(std::unexpected(library.error()),
                     "install OpenSSL: 'apt install libssl3', or your system's package of it");
  }
  CryptoLibrary out;
  Result<> done;
  const auto take = [&](const char* name, auto*& into) {
    if (done) done = library->load(name, into);
  };
  take("EVP_MD_CTX_new", out.context_new);
  take("EVP_MD_CTX_free", out.context_free);
  take("EVP_sha256", out.sha256);
  take("EVP_DigestInit_ex", out.init);
  take("EVP_DigestUpdate", out.update);
  take("EVP_DigestFinal_ex", out.final);
  if (!done) return std::unexpected(done.error());
  return out;
}

}  // namespace

struct Sha256::State {
  explicit State(const CryptoLibrary& library)
      : crypto(library), context(library.context_new(), library.context_free) {}

  CryptoLibrary crypto;
  std::unique_ptr<EVP_MD_CTX, decltype(CryptoLibrary::context_free)> context;
};

Sha256::Sha256(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Result<Sha256> Sha256::start() {
  const Result<CryptoLibrary> crypto = load_crypto();
  if (!crypto) return std::unexpected(crypto.error());
  auto state = std::make_unique<State>(*crypto);
  if (!state->context || crypto->init(state->context.get(), crypto->sha256(), nullptr) != 1) {
    return fail(ErrorKind::unsupported, "OpenSSL refuses to compute SHA-256 here");
  }
  return Sha256(std::move(state));
}

Result<> Sha256::add(std::span<const std::byte> bytes) {
  if (state_->crypto.update(state_->context.get(), bytes.data(), bytes.size()) == 1) return {};
  return fail(ErrorKind::failed, "OpenSSL cannot go on computing SHA-256");
}

Result<std::string> Sha256::finish() {
  std::array<unsigned char, kSha256Bytes> digest{};
  if (state_->crypto.final(state_->context.get(), digest.data(), nullptr) != 1) {
    return fail(ErrorKind::failed, "OpenSSL cannot complete a SHA-256");
  }
  return as_hex(digest);
}

}  // namespace picchio::os

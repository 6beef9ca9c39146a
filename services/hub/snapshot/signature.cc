#include "services/hub/snapshot/signature.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <sys/stat.h>

#include <utility>

#include "common/base/check.h"
#include "common/base/secret_file.h"
#include "services/hub/snapshot/new_file.h"

namespace cobblestone::hub {
namespace {

constexpr std::size_t kLargestKeyFile = 1u << 14;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

struct SigningKey::Key {
  explicit Key(EVP_PKEY* k) : key(k) {}
  ~Key() { ::EVP_PKEY_free(key); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  EVP_PKEY* key;
};

SigningKey::SigningKey(std::unique_ptr<Key> key) : key_(std::move(key)) {}
SigningKey::~SigningKey() = default;
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;

Result<SigningKey> SigningKey::Read(std::string_view option, const std::string& path) {
  auto pem = ReadSecretFile(option, path, kLargestKeyFile);
  if (!pem.ok()) return pem.status();
  ::ERR_clear_error();
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(
      ::BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())), ::BIO_free);
  // The callback returns no password: OpenSSL would otherwise ask for one on the terminal.
  auto key = std::make_unique<Key>(::PEM_read_bio_PrivateKey(
      bytes.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr));
  Wipe(&*pem);
  ::ERR_clear_error();
  if (key->key == nullptr || ::EVP_PKEY_base_id(key->key) != EVP_PKEY_ED25519)
    return Status::InvalidArgument(
        std::string(option) + ": " + path +
        " holds no Ed25519 key in PEM form; `openssl genpkey -algorithm ed25519` makes one");
  return SigningKey(std::move(key));
}

Result<SigningKey> SigningKey::Create(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0)
    return Status::InvalidArgument(path + " exists already; a key is never overwritten");
  ::ERR_clear_error();
  auto key = std::make_unique<Key>(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(::BIO_new(::BIO_s_secmem()), ::BIO_free);
  COBBLESTONE_CHECK(key->key != nullptr && ::PEM_write_bio_PKCS8PrivateKey(bytes.get(), key->key, nullptr,
                                                                           nullptr, 0, nullptr, nullptr) == 1,
                    "OpenSSL cannot make an Ed25519 key");
  char* text = nullptr;
  const long size = ::BIO_get_mem_data(bytes.get(), &text);
  NewFile file;
  Status s = file.Open(path, 0600);
  if (s.ok()) s = file.Append({text, static_cast<std::size_t>(size)});
  if (s.ok()) s = file.Finish();
  if (!s.ok()) return s;
  return SigningKey(std::move(key));
}

std::string SigningKey::PublicKey() const {
  std::string bytes(kKeyBytes, '\0');
  std::size_t size = bytes.size();
  COBBLESTONE_CHECK(
      ::EVP_PKEY_get_raw_public_key(key_->key, reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1,
      "an Ed25519 key has a public key");
  return bytes;
}

std::string SigningKey::Sign(std::string_view bytes) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          ::EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  COBBLESTONE_CHECK(::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_->key) == 1 &&
                        ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                         &size, Bytes(bytes), bytes.size()) == 1,
                    "OpenSSL cannot sign with Ed25519");
  return signature;
}

bool IsSignedBy(std::string_view public_key, std::string_view bytes, std::string_view signature) {
  if (public_key.size() != kKeyBytes || signature.size() != kSignatureBytes) return false;
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      ::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(public_key), public_key.size()),
      ::EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          ::EVP_MD_CTX_free);
  const bool valid =
      key != nullptr && ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      ::EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(bytes), bytes.size()) == 1;
  ::ERR_clear_error();
  return valid;
}

}  // namespace cobblestone::hub

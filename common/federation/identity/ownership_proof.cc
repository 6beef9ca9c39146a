#include "common/federation/identity/ownership_proof.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <charconv>
#include <memory>
#include <vector>

#include "common/base/day_text.h"

namespace cobblestone::federation {
namespace {

constexpr std::size_t kLongestMessage = 5000;
constexpr std::size_t kLongestSignature = 4000;
constexpr int kLeastBits = 2048;

using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;

// The text between the tags, without blanks around it; empty if a tag is missing.
std::string Element(std::string_view xml, const std::string& name) {
  const std::string open = "<" + name + ">";
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return "";
  const std::size_t end = xml.find("</" + name + ">", begin);
  if (end == std::string_view::npos) return "";
  std::string_view text = xml.substr(begin + open.size(), end - begin - open.size());
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::size_t last = text.find_last_not_of(kBlank);
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

KeyPointer ReadKey(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), ::BIO_free);
  return {::PEM_read_bio_PUBKEY(bytes.get(), nullptr, nullptr, nullptr), ::EVP_PKEY_free};
}

// Empty if the text is not base64.
std::vector<unsigned char> FromBase64(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != '\n' && c != '\r' && c != ' ') compact += c;
  }
  if (compact.empty() || compact.size() % 4 != 0) return {};
  std::vector<unsigned char> bytes(compact.size() / 4 * 3);
  const int size = ::EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(compact.data()),
                                     static_cast<int>(compact.size()));
  if (size < 0) return {};
  const std::size_t padding = compact.ends_with("==") ? 2 : (compact.ends_with('=') ? 1 : 0);
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    words.push_back(text.substr(0, blank));
    if (blank == std::string_view::npos) break;
    text.remove_prefix(blank + 1);
    if (text.empty()) words.emplace_back();  // a blank at the end is a wrong word
  }
  return words;
}

// Null: see NoKey.
KeyPointer UsableKey(std::string_view public_key_pem) {
  ::ERR_clear_error();
  KeyPointer key = ReadKey(public_key_pem);
  if (key != nullptr &&
      (::EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA || ::EVP_PKEY_bits(key.get()) < kLeastBits))
    key = nullptr;
  ::ERR_clear_error();
  return key;
}
Status NoKey() {
  return Status::InvalidArgument("the project's public key is no RSA key of at least 2,048 bits in PEM form");
}

bool ReadNumber(std::string_view text, std::uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number != 0;
}

// Days from 1971 on.
bool ReadDay(std::string_view text, Day* day) {
  const auto read = ParseDay(text);
  if (!read || *read < 365) return false;
  *day = static_cast<Day>(*read);
  return true;
}

}  // namespace

Result<OwnershipProof> ReadOwnershipProof(std::string_view xml) {
  OwnershipProof proof{.master_url = Element(xml, "master_url"),
                       .message = Element(xml, "msg"),
                       .signature = Element(xml, "signature")};
  if (proof.master_url.empty() || proof.message.empty() || proof.signature.empty())
    return Status::InvalidArgument(
        "a proof of ownership has the elements master_url, msg and signature; copy the whole text from the "
        "project's page");
  if (proof.message.size() > kLongestMessage || proof.signature.size() > kLongestSignature)
    return Status::InvalidArgument("the proof of ownership is too long");
  return proof;
}

Status CheckOwnershipKey(std::string_view public_key_pem) {
  return UsableKey(public_key_pem) != nullptr ? Status::Ok() : NoKey();
}

Status VerifyOwnershipProof(const OwnershipProof& proof, std::string_view public_key_pem) {
  const KeyPointer key = UsableKey(public_key_pem);
  if (key == nullptr) return NoKey();
  const std::vector<unsigned char> signature = FromBase64(proof.signature);
  if (signature.empty()) return Status::InvalidArgument("the signature of the proof is not base64");
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          ::EVP_MD_CTX_free);
  const bool valid =
      ::EVP_DigestVerifyInit(context.get(), nullptr, ::EVP_sha512(), nullptr, key.get()) == 1 &&
      ::EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                         reinterpret_cast<const unsigned char*>(proof.message.data()),
                         proof.message.size()) == 1;
  ::ERR_clear_error();
  if (!valid)
    return Status::InvalidArgument("the project " + proof.master_url +
                                   " has not signed this proof of ownership");
  return Status::Ok();
}

Result<OwnerStatement> ParseStatement(std::string_view message) {
  const std::vector<std::string_view> words = Words(message);
  OwnerStatement statement;
  if (words.size() >= 4 && ReadNumber(words[0], &statement.user) && words[1] == "cobblestone") {
    if (words.size() == 5 && words[2] == "joins" && ReadNumber(words[4], &statement.other_user)) {
      statement.other_url = words[3];
      return statement;
    }
    statement.kind = words[2] == "leaves" ? StatementKind::kLeaves : StatementKind::kReturns;
    if (words.size() == 4 && (words[2] == "leaves" || words[2] == "returns") &&
        ReadDay(words[3], &statement.day))
      return statement;
  }
  return Status::InvalidArgument(
      "the proof has no statement for this hub; have the project sign `cobblestone joins URL USERID`, "
      "`cobblestone leaves YYYY-MM-DD` or `cobblestone returns YYYY-MM-DD`");
}

}  // namespace cobblestone::federation

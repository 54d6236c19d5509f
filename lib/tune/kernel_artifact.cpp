// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/kernel_artifact.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "tensorsmith/cost/model_bytes.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

constexpr std::string_view magic = "TSKERNEL";
/// Raised with every change of this form or of codegen/kernel_abi.hpp.
constexpr std::uint32_t form = 1;
constexpr std::size_t most_parameters = 256;
constexpr std::int64_t most_file_bytes = std::int64_t{1} << 30;

void write(ByteWriter& out, const std::vector<KernelParameter>& parameters) {
  out.u32(static_cast<std::uint32_t>(parameters.size()));
  for (const KernelParameter& parameter : parameters) {
    out.text(parameter.name);
    out.u32(static_cast<std::uint32_t>(parameter.dtype));
    out.u64(static_cast<std::uint64_t>(parameter.num_elements));
    out.u32((parameter.is_output ? 1U : 0U) | (parameter.is_overwritable ? 2U : 0U));
  }
}

/// Reads what `write` wrote; notes values that none of it has.
class ArtifactReader {
 public:
  explicit ArtifactReader(std::string_view bytes) : in_(bytes) {}

  std::string text() { return std::string(in_.text()); }
  std::int64_t size(std::int64_t most) {
    const std::uint64_t value = in_.u64();
    is_sound_ = is_sound_ && value <= static_cast<std::uint64_t>(most);
    return is_sound_ ? static_cast<std::int64_t>(value) : 0;
  }
  std::uint32_t number(std::uint32_t most) {
    const std::uint32_t value = in_.u32();
    is_sound_ = is_sound_ && value <= most;
    return is_sound_ ? value : 0;
  }
  double real() {
    const double value = in_.f64();
    is_sound_ = is_sound_ && value >= 0 && value < 1e300;
    return value;
  }
  std::vector<KernelParameter> parameters() {
    std::vector<KernelParameter> list(number(most_parameters));
    for (KernelParameter& parameter : list) {
      parameter.name = text();
      parameter.dtype = static_cast<DType>(number(static_cast<std::uint32_t>(DType::boolean)));
      parameter.num_elements = size(INT64_MAX / 8);
      const std::uint32_t flags = number(3);
      parameter.is_output = (flags & 1U) != 0;
      parameter.is_overwritable = (flags & 2U) != 0;
    }
    return list;
  }
  std::string_view rest() const { return in_.rest(); }
  bool is_sound() const { return is_sound_ && in_.ok(); }

 private:
  ByteReader in_;
  bool is_sound_ = true;
};

bool is_symbol(const std::string& name) {
  return !name.empty() && name.size() < 200 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

}  // namespace

std::string artifact_bytes(const KernelArtifact& artifact) {
  ByteWriter body;
  for (const std::string* text : {&artifact.workload, &artifact.workload_key, &artifact.target,
                                  &artifact.cpu, &artifact.features, &artifact.version,
                                  &artifact.signature.entry, &artifact.signature.prepack_entry}) {
    body.text(*text);
  }
  body.u32(static_cast<std::uint32_t>(artifact.num_threads));
  body.f64(artifact.best_ns);
  body.u64(static_cast<std::uint64_t>(artifact.signature.shared_bytes));
  body.u64(static_cast<std::uint64_t>(artifact.signature.per_thread_bytes));
  write(body, artifact.signature.parameters);
  write(body, artifact.signature.prepack_parameters);
  body.raw({reinterpret_cast<const char*>(artifact.object.data()), artifact.object.size()});
  const std::string payload = body.take();
  ByteWriter out;
  out.raw(magic);
  out.u32(form);
  out.u64(payload.size());
  out.u64(hash_text(payload));
  out.raw(payload);
  return out.take();
}

Result<KernelArtifact, std::string> artifact_from_bytes(std::string_view bytes) {
  ByteReader head(bytes);
  if (head.raw(magic.size()) != magic) {
    return fail(std::string("this is no kernel of tensorsmith"));
  }
  const std::uint32_t its_form = head.u32();
  if (head.ok() && its_form != form) {
    return fail("the kernel was written in form " + std::to_string(its_form) +
                ", this library reads form " + std::to_string(form) + "; tune it again");
  }
  const std::uint64_t size = head.u64(), hash = head.u64();
  if (!head.ok() || size != head.rest().size()) {
    return fail(std::string("the kernel is cut off, or something follows it"));
  }
  if (hash != hash_text(head.rest())) {
    return fail(std::string("the kernel is damaged (checksum)"));
  }
  ArtifactReader in(head.rest());
  KernelArtifact artifact;
  for (std::string* text : {&artifact.workload, &artifact.workload_key, &artifact.target,
                            &artifact.cpu, &artifact.features, &artifact.version,
                            &artifact.signature.entry, &artifact.signature.prepack_entry}) {
    *text = in.text();
  }
  artifact.num_threads = static_cast<std::int32_t>(in.number(1024));
  artifact.best_ns = in.real();
  artifact.signature.shared_bytes = in.size(std::int64_t{1} << 40);
  artifact.signature.per_thread_bytes = in.size(std::int64_t{1} << 40);
  artifact.signature.parameters = in.parameters();
  artifact.signature.prepack_parameters = in.parameters();
  const std::string_view object = in.rest();
  const KernelSignature& signature = artifact.signature;
  const bool has_prepack = !signature.prepack_entry.empty();
  if (!in.is_sound() || artifact.num_threads < 1 || object.empty() ||
      signature.parameters.empty() || !is_symbol(signature.entry) ||
      (has_prepack && !is_symbol(signature.prepack_entry)) ||
      has_prepack == signature.prepack_parameters.empty()) {
    return fail(std::string("the kernel contradicts itself"));
  }
  const auto* first = reinterpret_cast<const std::byte*>(object.data());
  artifact.object.assign(first, first + object.size());
  return artifact;
}

Result<Done, std::string> save_artifact(const KernelArtifact& artifact, const std::string& path) {
  const Result<Done, FileError> written = write_file(path, artifact_bytes(artifact));
  if (!written) {
    return fail(written.error().message);
  }
  return Done{};
}

Result<KernelArtifact, std::string> load_artifact(const std::string& path) {
  const Result<std::string, FileError> bytes =
      read_file(path, {.most_bytes = most_file_bytes, .is_text = false});
  if (!bytes) {
    return fail(bytes.error().message);
  }
  Result<KernelArtifact, std::string> artifact = artifact_from_bytes(*bytes);
  if (!artifact) {
    return fail(in_quotes(path) + ": " + artifact.error());
  }
  return artifact;
}

std::string refusal_of(const KernelArtifact& artifact) {
  if (const Result<Target, std::string> target = runnable_target(artifact.cpu); !target) {
    return target.error();
  }
  // What the code may use beyond its processor's name, such as "+avx512vnni,-prefer-256-bit".
  const std::string own = "," + llvm_feature_string(probe_host().features) + ",";
  std::string_view rest = artifact.features;
  while (!rest.empty()) {
    const std::string_view feature = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), feature.size() + 1));
    if (feature.starts_with('+') && own.find("," + std::string(feature) + ",") == own.npos) {
      return "the kernel was compiled for a processor with " + one_line(feature.substr(1), 40) +
             ", which this one does not have; tune it here";
    }
  }
  return {};
}

Kernel kernel_of(const KernelArtifact& artifact, Runtime runtime) {
  if (const std::string refusal = refusal_of(artifact); !refusal.empty()) {
    throw Error("kernel_of: " + refusal);
  }
  return Kernel(artifact.signature, artifact.object, std::move(runtime));
}
Kernel kernel_of(const KernelArtifact& artifact) {
  return kernel_of(artifact, Runtime(artifact.num_threads));
}

}  // namespace tensorsmith

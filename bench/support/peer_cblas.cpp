// SPDX-License-Identifier: Apache-2.0
// OpenBLAS and BLIS, opened at run time so that their core type can be chosen first.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/peer.hpp"
#include "tensorsmith/host.hpp"

namespace tensorsmith::bench {
namespace {

// The part of cblas.h that is used; 32-bit integers, as the distribution builds it.
constexpr int row_major = 101;
constexpr int no_transpose = 111;
constexpr int transpose = 112;
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);
using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);

struct CblasLibrary {
  std::string name;
  Sgemm sgemm = nullptr;
  Sgemv sgemv = nullptr;
  std::function<void(int)> set_num_threads;
  std::function<int()> get_num_threads;
  std::string version, core;
  std::string forced;
  std::string reason;  ///< why it cannot be used; empty: it can
};

/// Opens the first of `files` and looks functions up in it.
class SharedLibrary {
 public:
  SharedLibrary(const std::vector<std::string>& files, const char* package) {
    for (const std::string& file : files) {
      handle_ = handle_ != nullptr ? handle_ : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (handle_ == nullptr) {
      reason = files.back() + " was not found; install " + package;
    }
  }
  template <class Function>
  Function* find(const char* name) {
    void* found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    if (found == nullptr && reason.empty()) {
      reason = std::string("the library found has no ") + name;
    }
    return reinterpret_cast<Function*>(found);
  }
  std::string reason;

 private:
  void* handle_ = nullptr;
};

/// The core type of this host's class in OpenBLAS 0.3.x's words; newer cores than the library knows
/// would fall back to Haswell.
const char* core_type_of(const Target& host) {
  if (host.isa == IsaLevel::x86_64_v4) {
    return host.has_bf16_dot ? "Cooperlake" : "SkylakeX";
  }
  return host.isa == IsaLevel::x86_64_v3 ? "Haswell" : nullptr;
}

CblasLibrary load_openblas() {
  CblasLibrary library;
  library.name = "openblas";
  const char* found = std::getenv("OPENBLAS_CORETYPE");
  const char* core = std::getenv("TENSORSMITH_OPENBLAS_CORETYPE");
  core = core != nullptr ? core : core_type_of(host_target());
  if (core != nullptr) {
    library.forced = core;
    if (found != nullptr && library.forced != found) {
      library.forced += std::string(", the environment asked for ") + found;
    }
    setenv("OPENBLAS_CORETYPE", core, 1);
  }
  unsetenv("OPENBLAS_L2_SIZE");  // would replace the size that the library reads from the CPU
  std::vector<std::string> files;
#if defined(TENSORSMITH_OPENBLAS_LIBRARY)
  files.emplace_back(TENSORSMITH_OPENBLAS_LIBRARY);
#endif
  files.insert(files.end(), {"libopenblas.so", "libopenblas.so.0"});
  SharedLibrary file(files, "libopenblas-dev");
  library.sgemm = file.find<std::remove_pointer_t<Sgemm>>("cblas_sgemm");
  library.sgemv = file.find<std::remove_pointer_t<Sgemv>>("cblas_sgemv");
  library.set_num_threads = file.find<void(int)>("openblas_set_num_threads");
  library.get_num_threads = file.find<int()>("openblas_get_num_threads");
  const auto core_name = file.find<char*()>("openblas_get_corename");
  const auto config = file.find<char*()>("openblas_get_config");
  library.reason = file.reason;
  if (library.reason.empty()) {
    library.version = config();
    library.core = core_name();
  }
  return library;
}

/// The distribution's 0.9 has no kernels for 512-bit vectors and takes scalar ones on a core that
/// it does not know: it is told to take those for 256-bit vectors.
CblasLibrary load_blis() {
  CblasLibrary library;
  library.name = "blis";
  if (host_target().isa >= IsaLevel::x86_64_v3 && std::getenv("BLIS_ARCH_TYPE") == nullptr) {
    library.forced = "zen3";
    setenv("BLIS_ARCH_TYPE", "6", 1);
  }
  SharedLibrary file({"libblis.so", "libblis.so.4"}, "libblis4-pthread");
  library.sgemm = file.find<std::remove_pointer_t<Sgemm>>("cblas_sgemm");
  library.sgemv = file.find<std::remove_pointer_t<Sgemv>>("cblas_sgemv");
  const auto set_threads = file.find<void(std::int64_t)>("bli_thread_set_num_threads");
  const auto get_threads = file.find<std::int64_t()>("bli_thread_get_num_threads");
  const auto init = file.find<void()>("bli_init");
  const auto arch = file.find<int()>("bli_arch_query_id");
  const auto arch_name = file.find<char*(int)>("bli_arch_string");
  const auto version = file.find<char*()>("bli_info_get_version_str");
  library.reason = file.reason;
  if (library.reason.empty()) {
    library.set_num_threads = [set_threads](int n) { set_threads(n); };
    library.get_num_threads = [get_threads] { return static_cast<int>(get_threads()); };
    init();  // the next calls need it
    library.version = std::string("BLIS ") + version();
    library.core = arch_name(arch());
  }
  return library;
}

class CblasPeer final : public Peer {
 public:
  explicit CblasPeer(const CblasLibrary& library) : library_(library) {}

  std::string name() const override { return library_.name; }
  std::string library_version() const override { return library_.version; }
  std::string impl_info() const override {
    return routine_ + " core=" + library_.core +
           (library_.forced.empty() ? " (not forced)" : " (forced: " + library_.forced + ")");
  }

  Prepared prepare(const Problem& problem, const Buffers& buffers, PackingClass packing,
                   int threads) override {
    buffers_ = buffers;
    threads_ = threads;
    library_.set_num_threads(threads);
    if (const int got = library_.get_num_threads(); got != threads) {
      return Prepared::no(library_.name + " was loaded where it may use only " +
                          std::to_string(got) + " threads, wanted " + std::to_string(threads));
    }
    if (sizes_of(problem).is_low_precision()) {
      return Prepared::no(library_.name + " has floats only");
    }
    if (packing != PackingClass::plain) {
      return Prepared::no(library_.name + " has no packed or free layouts");
    }
    if (const auto* gemm = std::get_if<GemmShape>(&problem)) {
      if (gemm->activation == Activation::gelu) {
        return Prepared::no(library_.name + " has no vector gelu");
      }
      problem_ = problem;
      routine_ = gemm->batch == 1 ? "cblas_sgemm" : "cblas_sgemm in a loop";
      routine_ += gemm->bias  ? ", bias copied into C first"
                  : gemm->add ? ", residual copied into C first"
                              : "";
      routine_ += gemm->bias && gemm->add ? ", added to the residual" : "";
      routine_ += gemm->activation == Activation::relu ? ", relu in a second pass" : "";
      routine_ += gemm->layernorm ? ", layernorm in loops" : "";
      return Prepared::yes();
    }
    if (const auto* reduce = std::get_if<ReduceShape>(&problem);
        reduce != nullptr && reduce->kind != ReduceKind::max) {
      problem_ = problem;
      factors_ = AlignedBuffer(reduce->columns);
      const auto columns = static_cast<float>(reduce->columns);
      factors_.fill(reduce->kind == ReduceKind::mean ? 1.0F / columns : 1.0F);
      routine_ = "cblas_sgemv with a constant vector";
      return Prepared::yes();
    }
    return Prepared::no(library_.name + " has only matrix products");
  }

  void run() override {
    library_.set_num_threads(threads_);
    if (const auto* gemm = std::get_if<GemmShape>(&problem_)) {
      run_gemm(*gemm);
      return;
    }
    const auto& reduce = std::get<ReduceShape>(problem_);
    const int columns = static_cast<int>(reduce.columns);
    library_.sgemv(row_major, no_transpose, static_cast<int>(reduce.rows), columns, 1.0F,
                   buffers_.input, columns, factors_.data(), 1, 0.0F, buffers_.output, 1);
  }

  void write_output() override {}

 private:
  void run_gemm(const GemmShape& s) const {
    const int m = static_cast<int>(s.m);
    const int n = static_cast<int>(s.n);
    const int k = static_cast<int>(s.k);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      float* out = buffers_.output + b * s.m * s.n;
      if (s.add) {
        const float* residual = buffers_.residual + b * s.m * s.n;
        std::copy(residual, residual + s.m * s.n, out);
      }
      for (std::int64_t row = 0; s.bias && row < s.m; ++row) {
        for (std::int64_t i = 0; i < s.n; ++i)
          out[row * s.n + i] = buffers_.bias[i] + (s.add ? out[row * s.n + i] : 0.0F);
      }
      library_.sgemm(row_major, s.transpose_a ? transpose : no_transpose,
                     s.transpose_b ? transpose : no_transpose, m, n, k, s.scale,
                     buffers_.input + b * s.m * s.k, s.transpose_a ? m : k,
                     buffers_.weights + b * s.k * s.n, s.transpose_b ? k : n,
                     s.bias || s.add ? 1.0F : 0.0F, out, n);
      if (s.activation == Activation::relu) {
        for (std::int64_t i = 0; i < s.m * s.n; ++i)
          out[i] = out[i] > 0 ? out[i] : 0.0F;
      }
      for (std::int64_t row = 0; s.layernorm && row < s.m; ++row) {
        normalize(out + row * s.n, s.n);
      }
    }
  }

  /// In place; lanes of partial sums, so that the compiler makes vectors of them.
  void normalize(float* row, std::int64_t columns) const {
    constexpr std::int64_t lanes = 64;
    float sums[lanes] = {}, squares[lanes] = {};
    const std::int64_t whole = columns / lanes * lanes;
    for (std::int64_t i = 0; i < whole; i += lanes) {
      for (std::int64_t l = 0; l < lanes; ++l) {
        sums[l] += row[i + l];
        squares[l] += row[i + l] * row[i + l];
      }
    }
    float sum = 0, square = 0;
    for (std::int64_t l = 0; l < lanes; ++l) {
      sum += sums[l] + (whole + l < columns ? row[whole + l] : 0);
      square += squares[l] + (whole + l < columns ? row[whole + l] * row[whole + l] : 0);
    }
    const auto count = static_cast<float>(columns);
    const float mean = sum / count;
    const float variance = square / count - mean * mean;
    const float scale = 1 / std::sqrt(variance + LayernormShape{}.epsilon);
    for (std::int64_t i = 0; i < columns; ++i)
      row[i] = (row[i] - mean) * scale * buffers_.gamma[i] + buffers_.beta[i];
  }

  const CblasLibrary& library_;
  Problem problem_;
  Buffers buffers_;
  AlignedBuffer factors_;
  std::string routine_;
  int threads_ = 1;
};

FoundPeer cblas_peer(const CblasLibrary& library) {
  FoundPeer found;
  found.name = library.name;
  found.reason = library.reason;
  if (found.reason.empty()) {
    found.peer = std::make_unique<CblasPeer>(library);
  }
  return found;
}

}  // namespace

FoundPeer make_openblas_peer() {
  static const CblasLibrary library = load_openblas();
  return cblas_peer(library);
}
FoundPeer make_blis_peer() {
  static const CblasLibrary library = load_blis();
  return cblas_peer(library);
}

}  // namespace tensorsmith::bench

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "compile_cache.hpp"
#include "nvrtc_library.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"

namespace tensorsmith {

using cuda::CachedCubin;
using cuda::CompileCache;
using cuda::NvrtcLibrary;
using cuda::NvrtcProgram;

namespace {

/// What of the options is the same for every text. The log then names registers and spills.
constexpr const char* fixed_options[] = {"--std=c++17", "--ptxas-options=-v", "--disable-warnings"};

class Program {
 public:
  Program(const NvrtcLibrary& library, const std::string& text) : library_(library) {
    status_ = library.create_program(&program_, text.c_str(), "kernel.cu", 0, nullptr, nullptr);
  }
  ~Program() {
    if (program_ != nullptr) {
      library_.destroy_program(&program_);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Result<CachedCubin, std::string> compile(const std::vector<std::string>& options) {
    if (status_ != 0) {
      return fail(std::string("NVRTC: ") + library_.error_text(status_));
    }
    std::vector<const char*> texts;
    for (const std::string& option : options) {
      texts.push_back(option.c_str());
    }
    status_ = library_.compile_program(program_, static_cast<int>(texts.size()), texts.data());
    CachedCubin result;
    result.log = read(library_.log_size, library_.log);
    while (!result.log.empty() && result.log.back() == '\0') {
      result.log.pop_back();
    }
    if (status_ != 0) {
      return fail(std::string("NVRTC: ") + library_.error_text(status_) + "\n" + result.log);
    }
    result.code = read(library_.cubin_size, library_.cubin);
    return result;
  }

 private:
  template <class SizeOf, class Get>
  std::string read(SizeOf size_of, Get get) const {
    std::size_t size = 0;
    if (size_of(program_, &size) != 0) {
      return {};
    }
    std::string bytes(size, '\0');
    return size == 0 || get(program_, bytes.data()) == 0 ? bytes : std::string();
  }

  const NvrtcLibrary& library_;
  NvrtcProgram program_ = nullptr;
  NvrtcLibrary::Status status_ = 0;
};

}  // namespace

struct NvrtcCompiler::Implementation {
  NvrtcLibrary library;
  std::string version;
  std::optional<CompileCache> cache;
  std::atomic<std::int64_t> num_hits{0};
};

Result<NvrtcCompiler, std::string> NvrtcCompiler::open(const std::string& path) {
  auto library = NvrtcLibrary::open(path);
  if (!library) {
    return fail(library.error());
  }
  NvrtcCompiler compiler;
  compiler.implementation_ = make_shared_of<Implementation>();
  Implementation& made = *compiler.implementation_;
  made.library = *library;
  int major = 0, minor = 0;
  made.library.version(&major, &minor);
  made.version = std::to_string(major) + "." + std::to_string(minor);
  return compiler;
}

const std::string& NvrtcCompiler::version() const { return implementation_->version; }
const std::string& NvrtcCompiler::path() const { return implementation_->library.path; }
std::int64_t NvrtcCompiler::num_cache_hits() const { return implementation_->num_hits; }

Result<Done, std::string> NvrtcCompiler::use_cache(const std::string& folder,
                                                   std::int64_t max_bytes) {
  auto cache = CompileCache::open(folder, max_bytes);
  if (!cache) {
    return fail(cache.error());
  }
  implementation_->cache = *cache;
  return Done{};
}

Result<Cubin, std::string> NvrtcCompiler::compile(const NvrtcJob& job) const {
  Implementation& made = *implementation_;
  std::vector<std::string> options{"--gpu-architecture=" + job.architecture};
  options.insert(options.end(), std::begin(fixed_options), std::end(fixed_options));
  std::string key;
  if (made.cache) {
    std::string all;
    for (const std::string& option : options) {
      all += option + " ";
    }
    key = CompileCache::key(job.text, all, made.version);
    if (auto found = made.cache->find(key)) {
      if (auto kernels = read_cubin(found->code, found->log)) {
        ++made.num_hits;
        return Cubin{std::move(found->code), std::move(*kernels), std::move(found->log)};
      }
    }
  }
  auto compiled = Program(made.library, std::string(job.text)).compile(options);
  if (!compiled) {
    return fail(compiled.error());
  }
  auto kernels = read_cubin(compiled->code, compiled->log);
  if (!kernels) {
    return fail("NVRTC " + made.version + " made code that cannot be read: " + kernels.error());
  }
  if (made.cache) {
    made.cache->add(key, *compiled);
  }
  return Cubin{std::move(compiled->code), std::move(*kernels), std::move(compiled->log)};
}

std::vector<Result<Cubin, std::string>>
NvrtcCompiler::compile_all(const std::vector<NvrtcJob>& jobs, std::int32_t num_threads) const {
  std::vector<std::optional<Result<Cubin, std::string>>> done(jobs.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      done[i].emplace(compile(jobs[i]));
    }
  };
  const std::size_t wanted =
      num_threads > 0 ? static_cast<std::size_t>(num_threads) : std::thread::hardware_concurrency();
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(std::max<std::size_t>(wanted, 1), jobs.size()); ++t) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<Result<Cubin, std::string>> results;
  for (auto& result : done) {
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace tensorsmith

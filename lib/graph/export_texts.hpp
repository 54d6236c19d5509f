// SPDX-License-Identifier: Apache-2.0
// The texts of an exported network, with @WORDS@ where something of the network stands.
//
// Private to lib/graph. Own design.
#pragma once

#include <cstddef>

namespace tensorsmith::graph {

inline constexpr const char* weights_magic = "TSNETW01";
inline constexpr std::size_t weights_head_bytes = 64;

inline constexpr const char* header_text = R"text(@NOTE@#pragma once

#include <cstddef>
#include <cstdint>

namespace @NAME@ {

/// The network with its weights, ready to run. One object per thread that runs it.
class Network {
 public:
  /// Opens @NAME@.weights, which belongs to this text; error() says whether that went well.
  explicit Network(const char* weights_file);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// One sentence; null: the network can run.
  const char* error() const { return error_; }

  /// Allocates nothing and throws nothing. Arguments are aligned to their elements and do not
  /// overlap; run() does nothing if there was an error.
@SHAPES@  void run(@PARAMETERS@);

 private:
  const char* error_ = nullptr;
  const unsigned char* weights_ = nullptr;
  unsigned char* arena_ = nullptr;
  void* map_ = nullptr;
};

}  // namespace @NAME@
)text";

inline constexpr const char* source_text = R"text(@NOTE@#include "@NAME@.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <type_traits>

#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define NETWORK_MAPS_FILES 1
#endif

namespace @NAME@ {

@KERNELS@namespace {

constexpr std::size_t weights_bytes = @WEIGHTS_BYTES@, head_bytes = @HEAD_BYTES@;
constexpr std::uint64_t weights_hash = @HASH@;

/// Of lines of 64 bytes, of so many that opening the largest file takes no longer than that of
/// 128 MiB: a file of another network, or one that lacks a part, differs in more than those between.
std::uint64_t hash_of(const unsigned char* data, std::size_t size) {
  const std::size_t step = 64 * (size / (std::size_t{1} << 27) + 1);
  std::uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t line = 0; line + 64 <= size; line += step) {
    for (std::size_t k = 0; k < 8; ++k) {  // of operations that vectors have: no product of 64 bits
      std::uint64_t word = 0;
      std::memcpy(&word, data + line + 8 * k, 8);
      word ^= lanes[k];
      word = (word & 0xFFFFFFFFU) * 0x9E3779B1U + (word >> 32 | word << 32);
      lanes[k] = word ^ word >> 29;
    }
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t lane : lanes) {
    hash = (hash ^ lane) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

/// The whole file, mapped or read; null with a reason.
void* open_file(const char* name, const char*& error) {
#if defined(NETWORK_MAPS_FILES)
  const int file = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused
  struct stat facts;
  if (file < 0 || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    error = "the file of weights cannot be opened";
    if (file >= 0) {
      ::close(file);
    }
    return nullptr;
  }
  if (static_cast<std::size_t>(facts.st_size) != weights_bytes) {
    error = "the file of weights has another size than this network's";
    ::close(file);
    return nullptr;
  }
  void* const map = ::mmap(nullptr, weights_bytes, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (map == MAP_FAILED) {
    error = "the file of weights cannot be mapped";
    return nullptr;
  }
  return map;
#else
  std::FILE* const file = std::fopen(name, "rb");
  void* const memory = ::operator new(weights_bytes, std::align_val_t{64}, std::nothrow);
  const bool is_whole = file != nullptr && memory != nullptr &&
                        std::fread(memory, 1, weights_bytes, file) == weights_bytes &&
                        std::fgetc(file) == EOF;
  if (file != nullptr) {
    std::fclose(file);
  }
  if (!is_whole) {
    ::operator delete(memory, std::align_val_t{64});
    error = "the file of weights cannot be read, or has another size than this network's";
    return nullptr;
  }
  return memory;
#endif
}
void close_file(void* map) {
#if defined(NETWORK_MAPS_FILES)
  ::munmap(map, weights_bytes);
#else
  ::operator delete(map, std::align_val_t{64});
#endif
}

}  // namespace

Network::Network(const char* weights_file) {
  map_ = open_file(weights_file, error_);
  if (map_ == nullptr) {
    return;
  }
  const unsigned char* const file = static_cast<const unsigned char*>(map_);
  std::uint64_t hash = 0;
  std::memcpy(&hash, file + 16, 8);
  if (std::memcmp(file, "@MAGIC@", 8) != 0 || hash != weights_hash ||
      hash_of(file + head_bytes, weights_bytes - head_bytes) != weights_hash) {
    error_ = "the file of weights is damaged, or belongs to another network";
    return;
  }
  weights_ = file + head_bytes;
  arena_ = static_cast<unsigned char*>(
      ::operator new(@ARENA_BYTES@, std::align_val_t{64}, std::nothrow));
  if (arena_ == nullptr) {
    error_ = "there is no memory for what lies between kernels";
  }
}

Network::~Network() {
  ::operator delete(arena_, std::align_val_t{64});
  if (map_ != nullptr) {
    close_file(map_);
  }
}

void Network::run(@PARAMETERS@) {
  if (error_ != nullptr) {
    return;
  }
@STEPS@}

}  // namespace @NAME@
)text";

inline constexpr const char* check_text =
    R"text(@NOTE@// Runs the network on recorded inputs and compares with recorded results.
//   @NAME@_check [FOLDER]     where @NAME@.weights and @NAME@.check are; exit code 1: they differ
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "@NAME@.hpp"

namespace {

template <class T>
void read(std::FILE* file, std::vector<T>& values) {
  if (std::fread(values.data(), sizeof(T), values.size(), file) != values.size()) {
    std::printf("@NAME@.check ends early\n");
    std::exit(2);
  }
}

/// Elements with other bits, and the largest difference as a share of the largest result.
template <class T>
void compare(const char* name, const std::vector<T>& got, const std::vector<T>& wanted,
             long& different, double& furthest) {
  double most = 0, apart = 0;
  long here = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    here += std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0 ? 1 : 0;
    const double a = static_cast<double>(got[i]), b = static_cast<double>(wanted[i]);
    const double gap = std::isnan(a) && std::isnan(b) ? 0 : std::fabs(a - b);
    most = std::fmax(most, std::fabs(b));
    apart = std::isnan(gap) ? HUGE_VAL : std::fmax(apart, gap);
  }
  const double share = most > 0 ? apart / most : apart;
  std::printf("%s: %ld of %zu elements have other bits, largest difference %.2e of the largest\n",
              name, here, got.size(), share);
  different += here;
  furthest = std::fmax(furthest, share);
}

double milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? std::string(argv[1]) + "/" : std::string();
  const double begin = milliseconds();
  @NAME@::Network network((folder + "@NAME@.weights").c_str());
  if (network.error() != nullptr) {
    std::printf("@NAME@.weights: %s\n", network.error());
    return 2;
  }
  const double ready = milliseconds();
  std::FILE* const file = std::fopen((folder + "@NAME@.check").c_str(), "rb");
  if (file == nullptr) {
    std::printf("@NAME@.check cannot be opened\n");
    return 2;
  }
@CHECK_ARRAYS@  std::fclose(file);
  network.run(@CHECK_ARGUMENTS@);
  long different = 0;
  double furthest = 0;
@CHECK_RESULTS@  double best = 0;
  const double start = milliseconds();
  for (int call = 0; call < 3 || milliseconds() - start < 500; ++call) {
    const double before = milliseconds();
    network.run(@CHECK_ARGUMENTS@);
    const double took = milliseconds() - before;
    best = call == 0 ? took : std::fmin(best, took);
  }
  std::printf("ready after %.1f ms, %.3f ms per run\n", ready - begin, best);
  if (!(furthest <= 1e-3)) {
    std::printf("the results differ\n");
    return 1;
  }
  std::printf(different == 0 ? "equal, bit for bit\n" : "equal within rounding\n");
  return 0;
}
)text";

inline constexpr const char* cmake_text = R"text(cmake_minimum_required(VERSION 3.13)
project(@NAME@ CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(@NAME@_MARCH "native" CACHE STRING
  "processor to compile for; machine code that was measured is taken where it has what that needs")

add_library(@NAME@ STATIC @NAME@.cpp)
target_compile_features(@NAME@ PUBLIC cxx_std_17)
target_compile_options(@NAME@ PRIVATE -march=${@NAME@_MARCH})
target_include_directories(@NAME@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(@THREADS@ GREATER 1)
  find_package(OpenMP)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(@NAME@ PUBLIC OpenMP::OpenMP_CXX)
  endif()
endif()

add_executable(@NAME@_check @NAME@_check.cpp)
target_link_libraries(@NAME@_check PRIVATE @NAME@)
)text";

}  // namespace tensorsmith::graph

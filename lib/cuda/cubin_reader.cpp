// SPDX-License-Identifier: Apache-2.0
// What a cubin says of its kernels. The container is ELF; the section .nv.info holds attributes of
// the form (format, attribute, length, symbol, value). Found by comparing cubins of NVRTC 12.9 and
// 13.0 for sm_75 to sm_90a with the compiler's log, which tests do for every version that is there.
#include <cstring>
#include <map>

#include "tensorsmith/codegen/nvrtc.hpp"

namespace tensorsmith {
namespace {

constexpr std::uint8_t attribute_registers = 0x2f, attribute_frame = 0x11;
constexpr std::uint16_t machine_cuda = 190;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T at(std::uint64_t offset) {
    T value{};
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      is_good_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(std::uint64_t offset) {
    if (offset >= bytes_.size()) {
      is_good_ = false;
      return {};
    }
    const std::string_view rest = bytes_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  bool is_good() const { return is_good_; }

 private:
  std::string_view bytes_;
  bool is_good_ = true;
};

struct Section {
  std::string name;
  std::uint64_t offset = 0, size = 0;
  std::uint32_t link = 0;
};

std::vector<Section> read_sections(Reader& in) {
  const auto table = in.at<std::uint64_t>(0x28);
  const auto count = in.at<std::uint16_t>(0x3c), names = in.at<std::uint16_t>(0x3e);
  const auto names_at = in.at<std::uint64_t>(table + 64ull * names + 24);
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < count && in.is_good(); ++i) {
    const std::uint64_t header = table + 64 * i;
    sections.push_back({in.text(names_at + in.at<std::uint32_t>(header)),
                        in.at<std::uint64_t>(header + 24), in.at<std::uint64_t>(header + 32),
                        in.at<std::uint32_t>(header + 40)});
  }
  return sections;
}

/// Calls f(attribute, symbol index, value) for every attribute of two 32-bit words.
template <class F>
void for_each_attribute(Reader& in, const Section& section, F&& f) {
  std::uint64_t at = section.offset;
  const std::uint64_t end = section.offset + section.size;
  while (at + 4 <= end && in.is_good()) {
    const auto format = in.at<std::uint8_t>(at), attribute = in.at<std::uint8_t>(at + 1);
    const std::uint64_t length = format == 4 ? in.at<std::uint16_t>(at + 2) : 0;
    if (length == 8) {
      f(attribute, in.at<std::uint32_t>(at + 4), in.at<std::uint32_t>(at + 8));
    }
    at += 4 + length;
  }
}

/// The number in front of `words` in a line of the log, -1 if they are not in it.
std::int64_t number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) {
    return -1;
  }
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  return begin == end ? -1 : std::stoll(std::string(line.substr(begin, end - begin)));
}

struct LogFacts {
  std::int64_t spill_bytes = 0, shared_bytes = 0;
};

std::map<std::string, LogFacts> read_log(std::string_view log) {
  std::map<std::string, LogFacts> facts;
  constexpr std::string_view head = "Function properties for ";
  LogFacts* current = nullptr;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(line.size() < log.size() ? line.size() + 1 : line.size());
    if (const std::size_t at = line.find(head); at != std::string_view::npos) {
      current = &facts[std::string(line.substr(at + head.size()))];
    } else if (current != nullptr) {
      const std::int64_t spilled = number_before(line, " bytes spill stores");
      const std::int64_t shared = number_before(line, " bytes smem");
      current->spill_bytes = spilled >= 0 ? spilled : current->spill_bytes;
      current->shared_bytes = shared >= 0 ? shared : current->shared_bytes;
    }
  }
  return facts;
}

}  // namespace

Result<std::vector<CubinKernel>, std::string> read_cubin(std::string_view code,
                                                         std::string_view log) {
  Reader in(code);
  const bool is_elf = code.substr(0, 5) == std::string_view("\177ELF\2", 5);
  if (!is_elf || in.at<std::uint16_t>(18) != machine_cuda) {
    return fail(std::string("not a cubin"));
  }
  const std::vector<Section> sections = read_sections(in);
  std::map<std::uint32_t, std::string> symbols;
  std::map<std::string, CubinKernel> facts;
  std::vector<CubinKernel> kernels;
  constexpr std::string_view info = ".nv.info.";
  for (const Section& section : sections) {
    if (section.name == ".symtab" && section.link < sections.size()) {
      for (std::uint64_t i = 0; 24 * (i + 1) <= section.size; ++i) {
        symbols[static_cast<std::uint32_t>(i)] =
            in.text(sections[section.link].offset + in.at<std::uint32_t>(section.offset + 24 * i));
      }
    }
  }
  for (const Section& section : sections) {
    if (section.name == ".nv.info") {
      for_each_attribute(in, section,
                         [&](std::uint8_t attribute, std::uint32_t symbol, std::uint32_t value) {
                           CubinKernel& kernel = facts[symbols[symbol]];
                           if (attribute == attribute_registers) {
                             kernel.num_registers = static_cast<std::int32_t>(value);
                           } else if (attribute == attribute_frame) {
                             kernel.stack_bytes = value;
                           }
                         });
    }
  }
  const std::map<std::string, LogFacts> logged = read_log(log);
  for (const Section& section : sections) {
    if (section.name.rfind(info, 0) != 0) {
      continue;
    }
    CubinKernel kernel = facts[section.name.substr(info.size())];
    kernel.name = section.name.substr(info.size());
    if (kernel.num_registers == 0) {
      return fail("the cubin does not say how many registers kernel " + kernel.name + " has");
    }
    if (const auto found = logged.find(kernel.name); found != logged.end()) {
      kernel.spill_bytes = found->second.spill_bytes;
      kernel.shared_bytes = found->second.shared_bytes;
    } else {
      kernel.spill_bytes = kernel.stack_bytes;
      for (const Section& other : sections) {
        kernel.shared_bytes = other.name == ".nv.shared." + kernel.name
                                  ? static_cast<std::int64_t>(other.size)
                                  : kernel.shared_bytes;
      }
    }
    kernels.push_back(kernel);
  }
  if (!in.is_good() || kernels.empty()) {
    return fail(std::string("a damaged cubin, or one without kernels"));
  }
  return kernels;
}

Result<Done, std::string> check_kernel(const CubinKernel& kernel, const CudaLaunch& launch,
                                       const GpuLimits& limits) {
  if (const auto launched = check_launch(launch, limits); !launched) {
    return fail(launched.error());
  }
  const auto too_many = [&](const std::string& what, std::int64_t value, std::int64_t limit) {
    return fail("kernel " + kernel.name + " needs " + std::to_string(value) + " " + what +
                ", the device has at most " + std::to_string(limit));
  };
  if (kernel.num_registers > limits.max_registers_per_thread) {
    return too_many("registers per thread", kernel.num_registers, limits.max_registers_per_thread);
  }
  // Registers are given out to whole warps, 8 per thread at a time (CUDA occupancy calculator).
  const auto whole = [](std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
  };
  const std::int64_t registers =
      whole(kernel.num_registers, 8) * whole(launch.num_threads(), limits.warp_size);
  if (registers > limits.registers_per_sm) {
    return too_many("registers in a block", registers, limits.registers_per_sm);
  }
  const std::int64_t shared = kernel.shared_bytes + launch.dynamic_shared_bytes;
  const std::int64_t shared_limit = launch.dynamic_shared_bytes > 0
                                        ? limits.max_shared_memory_optin_bytes
                                        : limits.max_shared_memory_bytes;
  if (shared > shared_limit) {
    return too_many("bytes of shared memory in a block", shared, shared_limit);
  }
  return Done{};
}

}  // namespace tensorsmith

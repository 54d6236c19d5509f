// SPDX-License-Identifier: Apache-2.0
// The functions of NVRTC and NVML: a "cubin" is an ELF file that names its kernels, with the same
// text compiled for the host in a section of its own.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "fake_cuda.hpp"

namespace fake_cuda {
namespace {

struct FakeProgram {
  std::string text, log, cubin;
};

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Sections .strtab, .symtab, .nv.info, .host and one .nv.info.KERNEL each.
std::string make_cubin(const std::vector<std::string>& kernels, const std::string& host) {
  std::string names(1, '\0'), symbols, info;
  const auto add_name = [&](const std::string& name) {
    const auto at = static_cast<std::uint32_t>(names.size());
    names += name + '\0';
    return at;
  };
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    std::string symbol;
    put(symbol, add_name(kernels[k]));
    symbol.resize(24, '\0');
    symbols += symbol;
    put<std::uint8_t>(info, 4), put<std::uint8_t>(info, 0x2f), put<std::uint16_t>(info, 8);
    put(info, static_cast<std::uint32_t>(k)), put<std::uint32_t>(info, 32);
  }
  struct Part {
    std::uint32_t name;
    std::string bytes;
    std::uint32_t link;
  };
  std::vector<Part> parts = {{0, {}, 0}};
  const std::uint32_t own_name = add_name(".strtab");
  parts.push_back({own_name, {}, 0});
  parts.push_back({add_name(".symtab"), symbols, 1});
  parts.push_back({add_name(".nv.info"), info, 0});
  parts.push_back({add_name(".host"), host, 0});
  for (const std::string& kernel : kernels) {
    parts.push_back({add_name(".nv.info." + kernel), {}, 0});
  }
  parts[1].bytes = names;
  std::string body(64, '\0'), table;
  for (const Part& part : parts) {
    put(table, part.name), put<std::uint32_t>(table, 1);
    put<std::uint64_t>(table, 0), put<std::uint64_t>(table, 0);
    put<std::uint64_t>(table, body.size()), put<std::uint64_t>(table, part.bytes.size());
    put(table, part.link), put<std::uint32_t>(table, 0);
    put<std::uint64_t>(table, 1), put<std::uint64_t>(table, 0);
    body += part.bytes;
  }
  const std::uint64_t table_at = body.size();
  const auto count = static_cast<std::uint16_t>(parts.size());
  const std::uint16_t machine = 190, names_at = 1;
  std::memcpy(body.data(), "\177ELF\2\1\1", 7);
  std::memcpy(body.data() + 18, &machine, 2);
  std::memcpy(body.data() + 0x28, &table_at, 8);
  std::memcpy(body.data() + 0x3c, &count, 2);
  std::memcpy(body.data() + 0x3e, &names_at, 2);
  return body + table;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Compiles for the host; empty if that fails.
std::string compile_for_host(const FakeProgram& program, const std::vector<std::string>& kernels) {
  std::string folder = "/tmp/tensorsmith-fake-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return {};
  }
  std::string text = "namespace fake_program {\n" + program.text + "}\n" +
                     "template <class... P> constexpr std::size_t count(void (*)(P...)) {\n" +
                     "  return sizeof...(P);\n}\n";
  for (const std::string& kernel : kernels) {
    text += "extern \"C\" const char* run_" + kernel +
            "(void* const* arguments, const long long* grid, const long long* block, "
            "long long dynamic_bytes, unsigned order) {\n"
            "  return arguments == nullptr ? reinterpret_cast<const char*>(count(fake_program::" +
            kernel +
            "))\n                              : cuda_shim::launch(fake_program::" + kernel +
            ", arguments, grid, block, dynamic_bytes, order);\n}\n";
  }
  std::ofstream(folder + "/kernel.cpp") << text;
  const std::string command =
      "g++ -std=c++17 -O1 -w -fno-gnu-unique -fPIC -shared -include " FAKE_CUDA_SHIM " -o " +
      folder + "/kernel.so " + folder + "/kernel.cpp >" + folder + "/log 2>&1";
  const std::string code =
      std::system(command.c_str()) == 0 ? read_file(folder + "/kernel.so") : std::string();
  for (const char* file : {"/kernel.cpp", "/kernel.so", "/log"}) {
    ::unlink((folder + file).c_str());
  }
  ::rmdir(folder.c_str());
  return code;
}

}  // namespace

std::vector<std::string> kernel_names(const std::string& text) {
  std::vector<std::string> names;
  const std::string mark = "__global__ void __launch_bounds__(";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = text.find('\n', at) + 1;
    names.push_back(text.substr(begin, text.find('(', begin) - begin));
  }
  return names;
}

void* host_code(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  std::uint64_t table = 0, offset = 0, size = 0;
  std::memcpy(&table, bytes + 0x28, 8);
  const char* const section = bytes + table + std::size_t{64} * 4;
  std::memcpy(&offset, section + 24, 8);
  std::memcpy(&size, section + 32, 8);
  if (size == 0) {
    return nullptr;
  }
  std::string path = "/tmp/tensorsmith-fake-XXXXXX";  // another one each time, or dlopen knows it
  const int file = ::mkstemp(path.data());
  const bool is_written = ::write(file, bytes + offset, size) == static_cast<ssize_t>(size);
  ::close(file);
  void* const code = is_written ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(path.c_str());
  return code;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_CUDA_API int nvrtcVersion(int* major, int* minor) {
  *major = 0, *minor = setting("counted") == 1 ? 1 : 2;  // no code of this one fits another one
  return 0;
}
FAKE_CUDA_API int nvrtcCreateProgram(void** program, const char* text, const char*, int,
                                     const char* const*, const char* const*) {
  *program = new FakeProgram{text, {}, {}};
  return 0;
}
FAKE_CUDA_API int nvrtcDestroyProgram(void** program) {
  delete static_cast<FakeProgram*>(*program);
  *program = nullptr;
  return 0;
}
FAKE_CUDA_API int nvrtcCompileProgram(void* program, int, const char* const*) {
  auto& made = *static_cast<FakeProgram*>(program);
  const std::vector<std::string> kernels = kernel_names(made.text);
  std::string host;
  if (setting("counted") != 1) {
    host = compile_for_host(made, kernels);
    if (host.empty()) {
      made.log = "the text does not compile as C++ against cuda_shim.hpp";
      return 6;
    }
  }
  made.cubin = make_cubin(kernels, host);
  return 0;
}
FAKE_CUDA_API int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  *size = static_cast<FakeProgram*>(program)->log.size();
  return 0;
}
FAKE_CUDA_API int nvrtcGetProgramLog(void* program, char* text) {
  const std::string& log = static_cast<FakeProgram*>(program)->log;
  std::memcpy(text, log.data(), log.size());
  return 0;
}
FAKE_CUDA_API int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  *size = static_cast<FakeProgram*>(program)->cubin.size();
  return 0;
}
FAKE_CUDA_API int nvrtcGetCUBIN(void* program, char* bytes) {
  const std::string& cubin = static_cast<FakeProgram*>(program)->cubin;
  std::memcpy(bytes, cubin.data(), cubin.size());
  return 0;
}
FAKE_CUDA_API const char* nvrtcGetErrorString(int status) {
  return status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

FAKE_CUDA_API int nvmlInit_v2() { return setting("no_nvml") == 1 ? 9 : 0; }
FAKE_CUDA_API int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &Machine::instance();
  return std::strncmp(uuid, "GPU-fafa", 8) == 0 ? 0 : 6;
}
FAKE_CUDA_API int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}
FAKE_CUDA_API int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return 0;
}
FAKE_CUDA_API int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = ++Machine::instance().readings <= setting("throttled") ? 0x40 : 0;
  return 0;
}

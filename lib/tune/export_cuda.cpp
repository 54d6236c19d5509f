// SPDX-License-Identifier: Apache-2.0
// CUDA text for people: kernels and the function of the host that launches them.
#include <string_view>

#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tune/filled_text.hpp"

namespace tensorsmith {
namespace {

/// What the text of the host function uses beside its parameters.
constexpr std::string_view own_words[] = {"workspace", "stream", "buffers", "arguments", "error"};

struct HostParameters {
  std::vector<std::string> names;
  std::string list;  ///< with types
};

HostParameters host_parameters(const CudaSource& device) {
  NameTable names(CDialect::cuda);
  for (const std::string_view word : own_words) {
    names.unique(word);
  }
  for (const CudaLaunch& launch : device.launches) {
    names.unique(launch.kernel);
  }
  HostParameters parameters;
  for (const CudaBuffer& buffer : device.buffers) {
    if (buffer.argument >= 0) {
      parameters.names.push_back(names.unique(buffer.name));
      parameters.list += (buffer.is_written ? "" : "const ") +
                         std::string(c_storage_type(buffer.dtype)) + "* " +
                         parameters.names.back() + ", ";
    }
  }
  parameters.list += "void* workspace, cudaStream_t stream";
  return parameters;
}

std::string dim3_text(const std::array<std::int64_t, 3>& size) {
  return "dim3(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " +
         std::to_string(size[2]) + ")";
}

std::string launch_text(const CudaLaunch& launch, const GpuLimits& limits) {
  std::string arguments;
  for (const std::int32_t buffer : launch.buffers) {
    arguments += (arguments.empty() ? "&buffers[" : ", &buffers[") + std::to_string(buffer) + "]";
  }
  const std::string bytes = std::to_string(launch.dynamic_shared_bytes);
  std::string text = "  {\n";
  text += "    void* arguments[] = {" + arguments + "};\n";
  if (launch.dynamic_shared_bytes > limits.max_shared_memory_bytes) {
    text += filled("    // More than {2} KiB of shared memory has to be asked for.\n"
                   "    cudaError_t error = cudaFuncSetAttribute(\n"
                   "        {0}, cudaFuncAttributeMaxDynamicSharedMemorySize, {1});\n"
                   "    if (error != cudaSuccess) {{\n      return error;\n    }}\n    error =",
                   {launch.kernel, bytes, std::to_string(limits.max_shared_memory_bytes / 1024)});
  } else {
    text += "    const cudaError_t error =";
  }
  text += filled(" cudaLaunchKernel({0}, {1},\n        {2}, arguments, {3}, stream);\n"
                 "    if (error != cudaSuccess) {{\n      return error;\n    }}\n  }}\n",
                 {launch.kernel, dim3_text(launch.grid), dim3_text(launch.block), bytes});
  return text;
}

}  // namespace

CudaExport export_cuda(const LoopProgram& program, const Target& target, const std::string& name,
                       const std::string& comment) {
  CudaSourceOptions options;
  options.name = name;
  options.comment = comment;
  if (target.gpu) {  // without the class nvcc may take an older one
    options.comment += "\n// nvcc -std=c++17 -arch=" + nvrtc_architecture(*target.gpu);
  }
  Result<CudaSource, std::string> device = cuda_source(program, target, options);
  if (!device) {
    throw Error(device.error());
  }
  for (const CudaLaunch& launch : device->launches) {
    if (const auto checked = check_launch(launch, *target.gpu); !checked) {
      throw Error(checked.error());
    }
    if (const auto checked = check_arrays(launch, *target.gpu); !checked) {  // it is right
      device->text = "// Slow: " + checked.error() + ".\n" + device->text;
    }
  }
  CudaExport result;
  result.name = name;
  result.kernel.function_name = name + "_launch";
  result.kernel.arguments = kernel_arguments(program);
  const HostParameters parameters = host_parameters(*device);
  const std::string signature =
      "cudaError_t " + result.kernel.function_name + "(" + parameters.list + ")";
  const std::string workspace = std::to_string(device->workspace_bytes);
  result.kernel.header = filled(
      "// {0}\n#pragma once\n\n#include <cstdint>\n\n#include <cuda_runtime.h>\n\n"
      "// Device memory that {1} works in, for one call at a time; 0: `workspace` may be null.\n"
      "constexpr std::int64_t {2}_workspace_bytes = {3};\n\n"
      "// Launches the kernels and does not wait for them. All pointers are device memory, at\n"
      "// multiples of 16 bytes (256 for the workspace), as cudaMalloc gives it.\n"
      "extern \"C\" {4};\n",
      {comment, result.kernel.function_name, name, workspace, signature});

  std::string body = "  void* buffers[] = {";
  for (std::size_t i = 0; i < device->buffers.size(); ++i) {
    const CudaBuffer& buffer = device->buffers[i];  // arguments come first, in order
    body += i == 0 ? "" : ", ";
    if (buffer.argument < 0) {
      body += "static_cast<char*>(workspace) + " + std::to_string(buffer.workspace_offset);
    } else if (buffer.is_written) {
      body += parameters.names[i];
    } else {
      body += filled("const_cast<{0}*>({1})",
                     {std::string(c_storage_type(buffer.dtype)), parameters.names[i]});
    }
  }
  body += "};\n";
  if (device->workspace_bytes == 0) {
    body += "  (void)workspace;\n";
  }
  for (const CudaLaunch& launch : device->launches) {
    body += launch_text(launch, *target.gpu);
  }
  result.kernel.source = device->text +
                         "\n// NVRTC compiles the kernels alone.\n#ifndef __CUDACC_RTC__\n"
                         "#include <cstdint>\n\n#include <cuda_runtime.h>\n\nextern \"C\" " +
                         signature + " {\n" + body + "  return cudaSuccess;\n}\n#endif\n";
  result.device = *std::move(device);
  return result;
}

}  // namespace tensorsmith

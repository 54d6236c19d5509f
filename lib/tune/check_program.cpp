// SPDX-License-Identifier: Apache-2.0
// The text of a program that checks an exported kernel against the program as written.
#include <cstdio>
#include <map>

#include "tensorsmith/tune/export.hpp"
#include "tune/f64_twin.hpp"
#include "tune/filled_text.hpp"

namespace tensorsmith {
namespace {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string type_name(DType dtype) {
  switch (dtype) {
  case DType::f64:
    return "double";
  case DType::f32:
    return "float";
  case DType::i64:
    return "std::int64_t";
  case DType::i32:
    return "std::int32_t";
  case DType::i16:
    return "std::int16_t";
  case DType::i8:
    return "std::int8_t";
  case DType::f16:
  case DType::bf16:
    return "std::uint16_t";
  case DType::u8:
  case DType::boolean:
    return "std::uint8_t";
  }
  return "float";
}

bool is_two_bytes(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// The function of the text that says which number an element is.
std::string number_function(DType dtype) {
  return is_two_bytes(dtype) ? "tensorsmith_check::" + std::string(name_of(dtype)) + "_number"
                             : "tensorsmith_check::number<" + type_name(dtype) + ">";
}

// In a namespace of their own: the exported function may have any name. Inline: no program needs
// all of them, and compilers warn of other functions that nobody calls.
constexpr const char* helpers = R"(#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace tensorsmith_check {

template <class T>
T* allocate(std::size_t count) {
  T* const data =
      static_cast<T*>(::operator new(count * sizeof(T) + 64, std::align_val_t{64}));
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = T();
  }
  return data;
}

inline std::uint64_t state = 1;
/// In [0, 1), the same on every machine.
inline double draw() {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 40) / 16777216.0;
}

template <class T>
double number(T value) {
  return static_cast<double>(value);
}
)";

constexpr const char* narrow_helpers = R"(
/// What the 16 bits of an f16 stand for, and those of a bf16.
inline double f16_number(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25));
}
inline double bf16_number(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
/// The bits of the next number towards zero.
inline std::uint16_t bits_of(double (*number_of)(std::uint16_t), double value) {
  int bits = 0;
  for (int bit = 1 << 14; bit > 0; bit >>= 1) {
    if (number_of(static_cast<std::uint16_t>(bits | bit)) <= std::fabs(value)) {
      bits |= bit;
    }
  }
  return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}
)";

constexpr const char* comparison = R"(
/// Differences beyond absolute + relative * |expected| + of_rms * rms(expected), and infinities and
/// NaN that are not where they are expected.
template <class T, class U>
long check(const char* name, double (*number_of)(T), const T* got, const U* expected,
           std::size_t count, double absolute, double relative, double of_rms) {
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double b = static_cast<double>(expected[i]);
    squares += std::isfinite(b) ? b * b : 0;
  }
  const double base = absolute + of_rms * std::sqrt(squares / static_cast<double>(count));
  long wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = number_of(got[i]), b = static_cast<double>(expected[i]);
    const bool is_near = std::isfinite(a) && std::isfinite(b) &&
                         std::fabs(a - b) <= base + relative * std::fabs(b);
    if (a != b && !(a != a && b != b) && !is_near && wrong++ < 5) {
      std::printf("%s[%zu] is %.9g, expected %.9g\n", name, i, a, b);
    }
  }
  return wrong;
}

}  // namespace tensorsmith_check

int main() {
)";

/// Statements that make an input and fill it.
std::string filled_input(const KernelArgument& argument, const std::string& variable) {
  const std::string value = number_text(argument.fill.low) + " + " +
                            number_text(argument.fill.high - argument.fill.low) +
                            " * tensorsmith_check::draw()";
  return filled("  for (std::size_t i = 0; i < {0}; ++i) {{\n    {1}[i] = {2};\n  }}\n",
                {std::to_string(argument.num_elements), variable,
                 is_two_bytes(argument.dtype)
                     ? filled("tensorsmith_check::bits_of(&{0}, {1})",
                              {number_function(argument.dtype), value})
                     : filled("static_cast<{0}>({1})", {type_name(argument.dtype), value})});
}

// Behind the helpers above.
constexpr const char* device_helpers = R"(
inline void require(cudaError_t error) {
  if (error != cudaSuccess) {
    std::printf("CUDA: %s\n", cudaGetErrorString(error));
    std::exit(2);
  }
}
template <class T>
T* on_device(const T* data, std::size_t count) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, count * sizeof(T)));
  require(cudaMemcpy(memory, data, count * sizeof(T), cudaMemcpyHostToDevice));
  return static_cast<T*>(memory);
}
template <class T>
void from_device(T* data, const T* memory, std::size_t count) {
  require(cudaMemcpy(data, memory, count * sizeof(T), cudaMemcpyDeviceToHost));
}
/// One call may work in `bytes` of the device.
template <class Launch>
void launched(std::int64_t bytes, const Launch& launch) {
  void* workspace = nullptr;
  if (bytes > 0) {
    require(cudaMalloc(&workspace, static_cast<std::size_t>(bytes)));
  }
  require(launch(workspace));
  require(cudaDeviceSynchronize());
  require(cudaFree(workspace));
}
)";

/// What a check calls.
struct CheckedKernel {
  std::string name;  ///< of its files
  const KernelSource& source;
};

std::string text_of_check(const MeasureTask& task, const CheckedKernel& kernel,
                          const std::optional<CheckedKernel>& prepack, bool is_on_device) {
  const std::string& name = kernel.name;
  std::string text = filled("// Checks {0} against {0}_reference.\n#include \"{0}.hpp\"\n"
                            "#include \"{0}_reference.hpp\"\n",
                            {name});
  if (prepack) {
    text += filled("#include \"{0}.hpp\"\n", {prepack->name});
  }
  text += std::string("\n") + (is_on_device ? "#include <cstdlib>\n" : "") + helpers;
  for (const KernelArgument& argument : task.arguments) {
    if (is_two_bytes(argument.dtype)) {
      text += narrow_helpers;
      break;
    }
  }
  text += (is_on_device ? std::string(device_helpers) : std::string()) + comparison;
  const auto allocated = [](const std::string& type, const std::string& variable,
                            std::int64_t count) {
    return filled("  {0}* const {1} = tensorsmith_check::allocate<{0}>({2});\n",
                  {type, variable, std::to_string(count)});
  };
  // On a device every array has a copy there, whose name begins with d.
  const auto copied = [&](const std::string& type, const std::string& variable,
                          std::int64_t count) {
    return is_on_device ? filled("  {0}* const d{1} = tensorsmith_check::on_device({1}, {2});\n",
                                 {type, variable, std::to_string(count)})
                        : std::string();
  };
  std::map<std::string, std::string> variables;  // by the name of the argument
  std::string reference_call;
  std::string results;
  std::string checks;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    const std::string place = std::to_string(i), variable = "a" + place, expected = "r" + place;
    const std::string count = std::to_string(argument.num_elements);
    text += allocated(type_name(argument.dtype), variable, argument.num_elements);
    if (!argument.is_output) {
      text += filled_input(argument, variable);
    } else {
      text += allocated(type_name(widened(argument.dtype)), expected, argument.num_elements);
      const OutputTolerance& tolerance = argument.tolerance;
      if (is_on_device) {
        results += filled("  tensorsmith_check::from_device({0}, d{0}, {1});\n", {variable, count});
      }
      checks += filled("  wrong += tensorsmith_check::check(\"{0}\", &{1}, {2}, {3}, {4}, {5}, "
                       "{6}, {7});\n",
                       {argument.name, number_function(argument.dtype), variable, expected, count,
                        number_text(tolerance.absolute), number_text(tolerance.relative),
                        number_text(tolerance.of_rms)});
    }
    text += copied(type_name(argument.dtype), variable, argument.num_elements);
    variables[argument.name] = variable;
    reference_call += (i == 0 ? "" : ", ") + (argument.is_output ? expected : variable);
  }
  const auto call = [&](const CheckedKernel& function) {
    std::string list;
    for (const SourceArgument& argument : function.source.arguments) {
      list += (list.empty() ? "" : ", ") + std::string(is_on_device ? "d" : "") +
              variables[argument.name];
    }
    return is_on_device
               ? filled(
                     "  tensorsmith_check::launched({0}_workspace_bytes, [&](void* workspace) {{\n"
                     "    return ::{1}({2}, workspace, nullptr);\n  }});\n",
                     {function.name, function.source.function_name, list})
               : filled("  ::{0}({1});\n", {function.source.function_name, list});
  };
  if (prepack) {
    for (const SourceArgument& argument : prepack->source.arguments) {
      if (argument.is_written) {
        const std::string variable = "p" + std::to_string(variables.size());
        text += allocated(type_name(argument.dtype), variable, argument.num_elements);
        text += copied(type_name(argument.dtype), variable, argument.num_elements);
        variables[argument.name] = variable;
      }
    }
    text += call(*prepack);
  }
  text += call(kernel) + results +
          filled("  ::{0}_reference({1});\n  long wrong = 0;\n{2}", {name, reference_call, checks});
  return text + "  std::printf(wrong == 0 ? \"ok\\n\" : \"%ld wrong elements\\n\", wrong);\n"
                "  return wrong == 0 ? 0 : 1;\n}\n";
}

}  // namespace

std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack) {
  std::optional<CheckedKernel> packing;
  if (prepack) {
    packing.emplace(CheckedKernel{prepack->function_name, *prepack});
  }
  return text_of_check(task, {kernel.function_name, kernel}, packing, false);
}

std::string check_program(const MeasureTask& task, const CudaExport& kernel,
                          const std::optional<CudaExport>& prepack) {
  std::optional<CheckedKernel> packing;
  if (prepack) {
    packing.emplace(CheckedKernel{prepack->name, prepack->kernel});
  }
  return text_of_check(task, {kernel.name, kernel.kernel}, packing, true);
}

}  // namespace tensorsmith

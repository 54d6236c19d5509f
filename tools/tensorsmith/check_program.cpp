#include "check_program.hpp"

#include <map>

#include <fmt/format.h>

namespace tensorsmith::cli {
namespace {

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

DType wide(DType dtype) { return is_float(dtype) ? DType::f64 : dtype; }

constexpr const char* prologue = R"(#include <cmath>
#include <cstdint>
#include <cstdio>
#include <new>

namespace {{

template <class T>
T* allocate(std::size_t count) {{
  T* const data =
      static_cast<T*>(::operator new(count * sizeof(T) + 64, std::align_val_t{{64}}));
  for (std::size_t i = 0; i < count; ++i) {{
    data[i] = T();
  }}
  return data;
}}

std::uint64_t state = 1;
/// In [0, 1), the same on every machine.
double draw() {{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 40) / 16777216.0;
}}

/// Differences beyond absolute + relative * |expected| + of_rms * rms(expected).
template <class T, class U>
long check(const char* name, const T* got, const U* expected, std::size_t count, double absolute,
           double relative, double of_rms) {{
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {{
    squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }}
  const double base = absolute + of_rms * std::sqrt(squares / static_cast<double>(count));
  long wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {{
    const double a = static_cast<double>(got[i]), b = static_cast<double>(expected[i]);
    const bool is_equal = a == b || (a != a && b != b) ||
                          std::fabs(a - b) <= base + relative * std::fabs(b);
    if (!is_equal && wrong++ < 5) {{
      std::printf("%s[%zu] is %.9g, expected %.9g\n", name, i, a, b);
    }}
  }}
  return wrong;
}}

}}  // namespace

int main() {{
)";

}  // namespace

bool has_check_program(const MeasureTask& task) {
  for (const KernelArgument& argument : task.arguments) {
    if (argument.dtype == DType::f16 || argument.dtype == DType::bf16) {
      return false;
    }
  }
  return true;
}

std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack) {
  const std::string& name = kernel.function_name;
  std::string text = fmt::format("// Checks {0} against {0}_reference.\n#include \"{0}.hpp\"\n"
                                 "#include \"{0}_reference.hpp\"\n",
                                 name);
  if (prepack) {
    text += fmt::format("#include \"{}.hpp\"\n", prepack->function_name);
  }
  text += "\n" + fmt::format(prologue);
  std::map<std::string, std::string> variables;  // by the name of the argument
  std::string reference_call;
  std::string checks;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    const std::string type = type_name(argument.dtype);
    text +=
        fmt::format("  {0}* const a{1} = allocate<{0}>({2});\n", type, i, argument.num_elements);
    if (!argument.is_output) {
      const double width = argument.fill.high - argument.fill.low;
      text += fmt::format("  for (std::size_t i = 0; i < {0}; ++i) {{\n"
                          "    a{1}[i] = static_cast<{2}>({3:g} + {4:g} * draw());\n  }}\n",
                          argument.num_elements, i, type, argument.fill.low, width);
    } else {
      text += fmt::format("  {0}* const r{1} = allocate<{0}>({2});\n",
                          type_name(wide(argument.dtype)), i, argument.num_elements);
      const OutputTolerance& tolerance = argument.tolerance;
      checks += fmt::format("  wrong += check(\"{}\", a{}, r{}, {}, {:.9g}, {:.9g}, {:.9g});\n",
                            argument.name, i, i, argument.num_elements, tolerance.absolute,
                            tolerance.relative, tolerance.of_rms);
    }
    variables[argument.name] = fmt::format("a{}", i);
    reference_call += fmt::format("{}{}{}", i == 0 ? "" : ", ", argument.is_output ? "r" : "a", i);
  }
  const auto call = [&variables](const KernelSource& function) {
    std::string list;
    for (const SourceArgument& argument : function.arguments) {
      list += (list.empty() ? "" : ", ") + variables[argument.name];
    }
    return fmt::format("  {}({});\n", function.function_name, list);
  };
  if (prepack) {
    for (const SourceArgument& argument : prepack->arguments) {
      if (argument.is_written) {
        const std::string variable = fmt::format("p{}", variables.size());
        text += fmt::format("  {0}* const {1} = allocate<{0}>({2});\n", type_name(argument.dtype),
                            variable, argument.num_elements);
        variables[argument.name] = variable;
      }
    }
    text += call(*prepack);
  }
  text += call(kernel) + fmt::format("  {0}_reference({1});\n  long wrong = 0;\n{2}", name,
                                     reference_call, checks);
  return text + "  std::printf(wrong == 0 ? \"ok\\n\" : \"%ld wrong elements\\n\", wrong);\n"
                "  return wrong == 0 ? 0 : 1;\n}\n";
}

}  // namespace tensorsmith::cli

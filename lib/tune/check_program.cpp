// SPDX-License-Identifier: Apache-2.0
// The text of a program that checks an exported kernel against the program as written.
#include <cstdio>
#include <initializer_list>
#include <map>

#include "tensorsmith/tune/export.hpp"

namespace tensorsmith {
namespace {

/// The pattern with {0}, {1} ... in place of which the values stand; {{ and }} are braces.
std::string filled(std::string_view pattern, std::initializer_list<std::string> values) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if ((c == '{' || c == '}') && next == c) {
      text += c;
      ++i;
    } else if (c == '{') {
      text += values.begin()[next - '0'];
      i += 2;
    } else {
      text += c;
    }
  }
  return text;
}

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

DType widened(DType dtype) { return is_float(dtype) ? DType::f64 : dtype; }
bool is_two_bytes(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// The function of the text that says which number an element is.
std::string number_function(DType dtype) {
  return is_two_bytes(dtype) ? "tensorsmith_check::" + std::string(name_of(dtype)) + "_number"
                             : "tensorsmith_check::number<" + type_name(dtype) + ">";
}

// In a namespace of their own: the exported function may have any name.
constexpr const char* helpers = R"(#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace tensorsmith_check {
namespace {

template <class T>
T* allocate(std::size_t count) {
  T* const data =
      static_cast<T*>(::operator new(count * sizeof(T) + 64, std::align_val_t{64}));
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = T();
  }
  return data;
}

std::uint64_t state = 1;
/// In [0, 1), the same on every machine.
double draw() {
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
double f16_number(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25));
}
double bf16_number(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
/// The bits of the next number towards zero.
std::uint16_t bits_of(double (*number_of)(std::uint16_t), double value) {
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

}  // namespace
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

}  // namespace

std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack) {
  const std::string& name = kernel.function_name;
  std::string text = filled("// Checks {0} against {0}_reference.\n#include \"{0}.hpp\"\n"
                            "#include \"{0}_reference.hpp\"\n",
                            {name});
  if (prepack) {
    text += filled("#include \"{0}.hpp\"\n", {prepack->function_name});
  }
  text += std::string("\n") + helpers;
  for (const KernelArgument& argument : task.arguments) {
    if (is_two_bytes(argument.dtype)) {
      text += narrow_helpers;
      break;
    }
  }
  text += comparison;
  const auto allocated = [](const std::string& type, const std::string& variable,
                            std::int64_t count) {
    return filled("  {0}* const {1} = tensorsmith_check::allocate<{0}>({2});\n",
                  {type, variable, std::to_string(count)});
  };
  std::map<std::string, std::string> variables;  // by the name of the argument
  std::string reference_call;
  std::string checks;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    const std::string place = std::to_string(i), variable = "a" + place, expected = "r" + place;
    text += allocated(type_name(argument.dtype), variable, argument.num_elements);
    if (!argument.is_output) {
      text += filled_input(argument, variable);
    } else {
      text += allocated(type_name(widened(argument.dtype)), expected, argument.num_elements);
      const OutputTolerance& tolerance = argument.tolerance;
      checks += filled("  wrong += tensorsmith_check::check(\"{0}\", &{1}, {2}, {3}, {4}, {5}, "
                       "{6}, {7});\n",
                       {argument.name, number_function(argument.dtype), variable, expected,
                        std::to_string(argument.num_elements), number_text(tolerance.absolute),
                        number_text(tolerance.relative), number_text(tolerance.of_rms)});
    }
    variables[argument.name] = variable;
    reference_call += (i == 0 ? "" : ", ") + (argument.is_output ? expected : variable);
  }
  const auto call = [&variables](const KernelSource& function) {
    std::string list;
    for (const SourceArgument& argument : function.arguments) {
      list += (list.empty() ? "" : ", ") + variables[argument.name];
    }
    return filled("  ::{0}({1});\n", {function.function_name, list});
  };
  if (prepack) {
    for (const SourceArgument& argument : prepack->arguments) {
      if (argument.is_written) {
        const std::string variable = "p" + std::to_string(variables.size());
        text += allocated(type_name(argument.dtype), variable, argument.num_elements);
        variables[argument.name] = variable;
      }
    }
    text += call(*prepack);
  }
  text += call(kernel) +
          filled("  ::{0}_reference({1});\n  long wrong = 0;\n{2}", {name, reference_call, checks});
  return text + "  std::printf(wrong == 0 ? \"ok\\n\" : \"%ld wrong elements\\n\", wrong);\n"
                "  return wrong == 0 ? 0 : 1;\n}\n";
}

}  // namespace tensorsmith

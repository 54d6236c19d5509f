// SPDX-License-Identifier: Apache-2.0
#include "compiled_source.hpp"

namespace tensorsmith::bench {

namespace {

/// Calls the exported function, whatever its parameters are, with the pointers of an array.
std::string caller_source(const std::string& function) {
  return "#include <cstddef>\n#include <utility>\n#include \"" + function +
         ".hpp\"\n"
         "namespace {\n"
         "template <class... P, std::size_t... I>\n"
         "void call(void (*f)(P...), void* const* a, std::index_sequence<I...>) {\n"
         "  f(static_cast<P>(a[I])...);\n"
         "}\n"
         "template <class... P> void call(void (*f)(P...), void* const* a) {\n"
         "  call(f, a, std::index_sequence_for<P...>());\n"
         "}\n"
         "}\n"
         "extern \"C\" void run(void* const* a) { call(&" +
         function + ", a); }\n";
}

}  // namespace

CompiledSource::CompiledSource(const KernelSource& source, const std::string& compiler,
                               const std::string& machine_flag)
    : library_({{source.function_name + ".cpp", source.source},
                {source.function_name + ".hpp", source.header},
                {"caller.cpp", caller_source(source.function_name)}},
               compiler,
               "-std=c++17 -O2 " + machine_flag + " -Wall -Wextra -Werror " + source.function_name +
                   ".cpp caller.cpp",
               "the exported kernel"),
      run_(reinterpret_cast<void (*)(void* const*)>(library_.symbol("run"))) {}

}  // namespace tensorsmith::bench

// SPDX-License-Identifier: Apache-2.0
#include "export_name.hpp"

#include <algorithm>
#include <string_view>

#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::cli {
namespace {

// C++20, C23, and what compilers of CUDA add.
constexpr std::string_view keywords[] = {"alignas",
                                         "alignof",
                                         "and",
                                         "and_eq",
                                         "asm",
                                         "auto",
                                         "bitand",
                                         "bitor",
                                         "bool",
                                         "break",
                                         "case",
                                         "catch",
                                         "char",
                                         "char16_t",
                                         "char32_t",
                                         "char8_t",
                                         "class",
                                         "co_await",
                                         "co_return",
                                         "co_yield",
                                         "compl",
                                         "concept",
                                         "const",
                                         "const_cast",
                                         "consteval",
                                         "constexpr",
                                         "constinit",
                                         "continue",
                                         "decltype",
                                         "default",
                                         "delete",
                                         "do",
                                         "double",
                                         "dynamic_cast",
                                         "else",
                                         "enum",
                                         "explicit",
                                         "export",
                                         "extern",
                                         "false",
                                         "float",
                                         "for",
                                         "friend",
                                         "goto",
                                         "if",
                                         "inline",
                                         "int",
                                         "long",
                                         "mutable",
                                         "namespace",
                                         "new",
                                         "noexcept",
                                         "not",
                                         "not_eq",
                                         "nullptr",
                                         "operator",
                                         "or",
                                         "or_eq",
                                         "private",
                                         "protected",
                                         "public",
                                         "register",
                                         "reinterpret_cast",
                                         "requires",
                                         "restrict",
                                         "return",
                                         "short",
                                         "signed",
                                         "sizeof",
                                         "static",
                                         "static_assert",
                                         "static_cast",
                                         "struct",
                                         "switch",
                                         "template",
                                         "this",
                                         "thread_local",
                                         "throw",
                                         "true",
                                         "try",
                                         "typedef",
                                         "typeid",
                                         "typename",
                                         "typeof",
                                         "typeof_unqual",
                                         "union",
                                         "unsigned",
                                         "using",
                                         "virtual",
                                         "void",
                                         "volatile",
                                         "wchar_t",
                                         "while",
                                         "xor",
                                         "xor_eq"};

// Functions of <cmath>; most of them with f and l behind them as well.
constexpr std::string_view math_functions[] = {"acos",
                                               "acosh",
                                               "asin",
                                               "asinh",
                                               "atan",
                                               "atan2",
                                               "atanh",
                                               "cbrt",
                                               "ceil",
                                               "copysign",
                                               "cos",
                                               "cosh",
                                               "drem",
                                               "erf",
                                               "erfc",
                                               "exp",
                                               "exp10",
                                               "exp2",
                                               "expm1",
                                               "fabs",
                                               "fdim",
                                               "finite",
                                               "floor",
                                               "fma",
                                               "fmax",
                                               "fmin",
                                               "fmod",
                                               "frexp",
                                               "gamma",
                                               "hypot",
                                               "ilogb",
                                               "isinf",
                                               "isnan",
                                               "j0",
                                               "j1",
                                               "jn",
                                               "ldexp",
                                               "lgamma",
                                               "llrint",
                                               "llround",
                                               "log",
                                               "log10",
                                               "log1p",
                                               "log2",
                                               "logb",
                                               "lrint",
                                               "lround",
                                               "modf",
                                               "nan",
                                               "nearbyint",
                                               "nextafter",
                                               "nexttoward",
                                               "pow",
                                               "pow10",
                                               "remainder",
                                               "remquo",
                                               "rint",
                                               "round",
                                               "roundeven",
                                               "scalb",
                                               "scalbln",
                                               "scalbn",
                                               "significand",
                                               "sin",
                                               "sincos",
                                               "sinh",
                                               "sqrt",
                                               "tan",
                                               "tanh",
                                               "tgamma",
                                               "trunc",
                                               "y0",
                                               "y1",
                                               "yn",
                                               "lgamma_r",
                                               "fmaxmag",
                                               "fminmag",
                                               "fromfp",
                                               "fromfpx",
                                               "ufromfp",
                                               "ufromfpx",
                                               "llogb",
                                               "nextup",
                                               "nextdown",
                                               "canonicalize",
                                               "setpayload",
                                               "getpayload",
                                               "totalorder",
                                               "totalordermag",
                                               "abs"};

// What else the headers of exported text declare, with those of <cstdlib>, <cstring> and <cstdio>
// and of POSIX that come with them; words of CUDA; macros that compilers define.
constexpr std::string_view library_names[] = {
    "abort", "aligned_alloc", "alloca", "at_quick_exit", "atexit", "atof", "atoi", "atol", "atoll",
    "bcmp", "bcopy", "bsearch", "bzero", "calloc", "clearenv", "clearerr", "clock", "cuserid",
    "ctermid", "div", "dprintf", "drand48", "ecvt", "erand48", "errno", "exit", "explicit_bzero",
    "fclose", "fcvt", "fdopen", "feof", "ferror", "fflush", "ffs", "ffsl", "ffsll", "fgetc",
    "fgetpos", "fgets", "fileno", "flockfile", "fmemopen", "fopen", "fpclassify", "fprintf",
    "fputc", "fputs", "fread", "free", "freopen", "fscanf", "fseek", "fseeko", "fsetpos", "ftell",
    "ftello", "ftrylockfile", "funlockfile", "fwrite", "gcvt", "getc", "getchar", "getdelim",
    "getenv", "getline", "getloadavg", "getpt", "gets", "getsubopt", "getw", "grantpt", "index",
    "initstate", "isfinite", "isnormal", "isgreater", "isless", "isunordered", "iseqsig",
    "issignaling", "issubnormal", "iszero", "jrand48", "l64a", "labs", "lcong48", "ldiv", "llabs",
    "lldiv", "linux", "lrand48", "main", "malloc", "mblen", "mbstowcs", "mbtowc", "memccpy",
    "memchr", "memcmp", "memcpy", "memfrob", "memmem", "memmove", "mempcpy", "memrchr", "memset",
    "mkdtemp", "mkostemp", "mkostemps", "mkstemp", "mkstemps", "mktemp", "mrand48", "nrand48",
    "on_exit", "open_memstream", "pclose", "perror", "popen", "posix_memalign", "posix_openpt",
    "printf", "ptsname", "putc", "putchar", "putenv", "puts", "putw", "qecvt", "qfcvt", "qgcvt",
    "qsort", "qsort_r", "quick_exit", "rand", "rand_r", "random", "rawmemchr", "realloc",
    "reallocarray", "realpath", "remove", "rename", "renameat", "rewind", "rindex", "rpmatch",
    "scanf", "secure_getenv", "seed48", "setbuf", "setbuffer", "setenv", "setlinebuf", "setstate",
    "setvbuf", "signbit", "signgam", "snprintf", "sprintf", "srand", "srand48", "srandom", "sscanf",
    "std", "stderr", "stdin", "stdout", "stpcpy", "stpncpy", "strcasecmp", "strcasestr", "strcat",
    "strchr", "strchrnul", "strcmp", "strcoll", "strcpy", "strcspn", "strdup", "strdupa",
    "strerror", "strfromd", "strfroml", "strfry", "strlcat", "strlcpy", "strlen", "strncasecmp",
    "strncat", "strncmp", "strncpy", "strndup", "strndupa", "strnlen", "strpbrk", "strrchr",
    "strsep", "strsignal", "strspn", "strstr", "strtod", "strtof", "strtok", "strtok_r", "strtol",
    "strtold", "strtoll", "strtoq", "strtoul", "strtoull", "strtouq", "strverscmp", "strxfrm",
    "system", "tempnam", "tmpfile", "tmpnam", "ungetc", "unix", "unlockpt", "unsetenv", "valloc",
    "vasprintf", "vdprintf", "vfprintf", "vfscanf", "vprintf", "vscanf", "vsnprintf", "vsprintf",
    "vsscanf", "wcstombs", "wctomb", "asprintf", "basename", "select", "pselect", "NAN", "NULL",
    "EOF", "INFINITY", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "BUFSIZ", "FILE", "SNAN", "MAXFLOAT",
    "DOMAIN", "SING", "OVERFLOW", "UNDERFLOW", "PLOSS", "TLOSS", "X_TLOSS", "math_errhandling",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "dim3", "trap", "brkpt", "norm",
    "min", "max", "float1", "float2", "float3", "float4", "double1", "double2", "double3",
    "double4", "int1", "int2", "int3", "int4", "half", "half2", "ushort", "uint", "ulong", "quad_t",
    "fsid_t",
    // Of the exported text itself.
    "tensorsmith_check", "floor_div", "floor_mod", "min_of", "max_of", "abs_of", "Scratch",
    "ParallelRuntime", "parallel_for"};

bool is_one_of(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_math_function(std::string_view name) {
  if (is_one_of(name, math_functions)) {
    return true;
  }
  for (const std::string_view end : {"f", "l", "f16", "f32", "f64", "f128", "f32x", "f64x"}) {
    if (name.ends_with(end) &&
        is_one_of(name.substr(0, name.size() - end.size()), math_functions)) {
      return true;
    }
  }
  return false;
}

/// Types, constants and macros that are many of a kind.
bool is_of_library_kind(std::string_view name) {
  for (const std::string_view start : {"M_", "FP_", "SEEK_", "EXIT_", "RAND_", "MB_", "P_tmp",
                                       "L_tmp", "L_cter", "TMP_", "MATH_"}) {
    if (name.starts_with(start)) {
      return true;
    }
  }
  const bool is_limit = name.ends_with("_MAX") || name.ends_with("_MIN") ||
                        name.ends_with("_WIDTH") || name.ends_with("INT8_C") ||
                        name.ends_with("INT16_C") || name.ends_with("INT32_C") ||
                        name.ends_with("INT64_C") || name.ends_with("INTMAX_C");
  return name.ends_with("_t") || is_limit;
}

}  // namespace

std::string export_name_problem(const std::string& name) {
  constexpr std::size_t longest = 100;  // files of other names begin with it
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string start = "--name must be a C++ identifier, is " + in_quotes(name);
  if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), [&](char c) {
        return is_letter(c) || is_digit(c) || c == '_';
      })) {
    return start;
  }
  if (name.size() > longest) {
    return start + ", which is longer than " + std::to_string(longest) + " bytes";
  }
  const std::string instead = "; take another one, such as my_" + name;
  if (is_one_of(name, keywords)) {
    return start + ", a word of C++ or C" + instead;
  }
  if (name[0] == '_' || name.find("__") != std::string::npos) {
    return start + ", which is reserved for compilers and their libraries";
  }
  if (is_one_of(name, library_names) || is_math_function(name) || is_of_library_kind(name)) {
    return start + ", which the standard library, CUDA or a compiler uses" + instead;
  }
  return {};
}

}  // namespace tensorsmith::cli

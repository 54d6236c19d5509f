// SPDX-License-Identifier: Apache-2.0
// What the tests of the worker processes share: the task B[i] = 2 A[i] + 1 and kernels for it.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "c_kernel.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"

namespace tensorsmith::test {

constexpr std::int64_t second = 1'000'000'000;  // in ns

inline std::string worker_program() {
  if (const char* path = std::getenv("TENSORSMITH_WORKER")) {
    return path;
  }
#ifdef TENSORSMITH_BIN_DIR
  return TENSORSMITH_BIN_DIR "/tensorsmith-worker";
#else
  return find_worker_program();
#endif
}

inline WorkerOptions worker_options() {
  WorkerOptions options;
  options.worker_path = worker_program();
  return options;
}

/// A is an input of `n` floats, B = 2 A + 1.
inline MeasureTask affine_task(std::int64_t n, std::int32_t num_threads = 1) {
  MeasureTask task;
  task.input_seed = 7;
  task.num_threads = num_threads;
  task.arguments.resize(2);
  task.arguments[0].name = "A";
  task.arguments[0].num_elements = n;
  task.arguments[1].name = "B";
  task.arguments[1].num_elements = n;
  task.arguments[1].is_output = true;
  const std::size_t num_bytes = static_cast<std::size_t>(n) * sizeof(float);
  std::vector<std::byte> input(num_bytes);
  fill_input(task, 0, input);
  std::vector<std::byte>& reference = task.arguments[1].reference;
  reference.resize(num_bytes);
  for (std::size_t i = 0; i < num_bytes; i += sizeof(float)) {
    float x = 0;
    std::memcpy(&x, input.data() + i, sizeof(float));
    const float y = static_cast<float>(2.0 * static_cast<double>(x) + 1.0);
    std::memcpy(reference.data() + i, &y, sizeof(float));
  }
  task.arguments[1].tolerance = tolerance_for(DType::f32, DType::f32, 1);
  return task;
}

/// C text of a loop over B, `n` from the task.
inline std::string loop(std::int64_t n, const std::string& statement) {
  return "for (long i = 0; i < " + std::to_string(n) + "; ++i) { " + statement + " }";
}

/// Kernels for affine_task(n), by symbol name; all in one object.
inline std::string kernel_zoo(std::int64_t n) {
  const std::string right = loop(n, "B[i] = 2 * A[i] + 1;");
  const std::string count = std::to_string(n);
  return "KERNEL(good) { " + right + " }\n" + "KERNEL(slow) { for (int r = 0; r < 2000; ++r) { " +
         right + " __asm__ volatile(\"\" ::: \"memory\"); } }\n" + "KERNEL(wrong) { " + right +
         " B[" + count + " / 2] += 0.5f; }\n" + "KERNEL(unwritten) { " +
         loop(n - 1, "B[i] = 2 * A[i] + 1;") + " }\n" + "KERNEL(nan_value) { " + right +
         " volatile float z = 0; B[3] = z / z; }\n" + "KERNEL(forever) { " + right +
         " for (;;) { __asm__ volatile(\"\"); } }\n" + "KERNEL(null_write) { " + right +
         " *(volatile int*)16 = 1; }\n" + "KERNEL(bad_instruction) { __builtin_trap(); }\n" +
         "void abort(void);\n"
         "KERNEL(aborts) { abort(); }\n"
         "void _exit(int);\n"
         "KERNEL(exits) { _exit(0); }\n"
         "KERNEL(one_past) { " +
         right + " B[" + count + "] = 1; }\n" + "KERNEL(one_before) { " + right +
         " B[-1] = 1; }\n" + "KERNEL(far_before) { " + right + " B[-200000] = 1; }\n" +
         "KERNEL(reads_before) { " + right + " volatile float x = A[-200000]; }\n" +
         "KERNEL(before_workspace) { float* w = ws; " + right + " w[-1] = 0; }\n" +
         "KERNEL(infinite) { " + right + " volatile float z = 0; B[7] = 1 / z; }\n" +
         "static long deep(volatile char* p, long n) { volatile char c[4096]; c[0] = *p; "
         "return deep(c, n + 1) + c[0]; }\n"
         "KERNEL(overflows_stack) { char c = 1; B[0] = deep(&c, 0); }\n" +
         "KERNEL(far_past) { " + right + " B[" + count + " + 5000] = 1; }\n" +
         "KERNEL(reads_past) { " + right + " volatile float x = A[" + count + " + 64]; }\n" +
         "KERNEL(writes_input) { " + right + " ((float*)A)[5] = 0; }\n" +
         "KERNEL(workspace) { float* w = ws; " + loop(n, "w[i] = 2 * A[i];") +
         loop(n, "B[i] = w[i] + 1;") + " }\n" + "KERNEL(past_workspace) { float* w = ws; " +
         loop(n + 1, "w[i] = 0;") + right + " }\n" +
         "KERNEL(drifts) { int* w = ws; if (w[0] == -1) w[0] = 0; ++w[0]; " + right +
         " if (w[0] > 3) B[0] = 0; }\n" +
         "float expf(float);\n"
         "void* memset(void*, int, size_t);\n"
         "KERNEL(calls_library) { memset(B, 0, 4 * " +
         count + "); " + loop(n, "B[i] = 2 * A[i] + expf(B[i]);") + " }\n" +
         "void no_such_function(void);\n"
         "struct Closure { const float* a; float* b; };\n"
         "static void part(void* c, int64_t begin, int64_t end, int32_t worker) {\n"
         "  struct Closure* p = c;\n"
         "  for (int64_t i = begin; i < end; ++i) p->b[i] = 2 * p->a[i] + 1; }\n"
         "KERNEL(parallel) { struct Closure c = {A, B}; rt->parallel_for(rt, part, &c, " +
         count + "); }\n" +
         "static void bad_part(void* c, int64_t begin, int64_t end, int32_t worker) {\n"
         "  if (begin > 0) *(volatile int*)16 = 1; }\n"
         "KERNEL(crashes_in_part) { rt->parallel_for(rt, bad_part, 0, 1000); }\n"
         "static void endless_part(void* c, int64_t begin, int64_t end, int32_t worker) {\n"
         "  while (begin > 0) { __asm__ volatile(\"\"); } }\n"
         "KERNEL(hangs_in_part) { rt->parallel_for(rt, endless_part, 0, 1000); }\n" +
         "void* malloc(size_t);\n"
         "int usleep(unsigned);\n"
         "KERNEL(naps) { usleep(90000); " +
         right + " }\n" + "KERNEL(sleeps) { " + right + " for (;;) usleep(1000000); }\n" +
         "KERNEL(leaks) { volatile char* p = malloc(4 << 20); for (long i = 0; i < (4 << 20); i += "
         "4096) "
         "p[i] = 1; " +
         right + " }\n";
}

inline CompiledCandidate candidate_of(const std::vector<std::byte>& object,
                                      const std::string& entry, std::int64_t shared_bytes = 0) {
  CompiledCandidate candidate;
  candidate.object = object;
  candidate.entry = entry;
  candidate.shared_bytes = shared_bytes;
  return candidate;
}

/// The object code of kernel_zoo(n), compiled once; empty where there is no C compiler.
template <std::int64_t n>
const std::vector<std::byte>& zoo() {
  static const std::vector<std::byte> object = compile_c(kernel_zoo(n));
  return object;
}

}  // namespace tensorsmith::test

/// Ends the test case, with the reason, where there is no C compiler or no worker.
#define TENSORSMITH_NEEDS(condition, reason)                                                       \
  if (!(condition)) {                                                                              \
    WARN("skipped: " << reason);                                                                   \
    return;                                                                                        \
  }

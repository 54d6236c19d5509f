// SPDX-License-Identifier: Apache-2.0
// Builds small loop programs, runs them compiled and interpreted, and compares.
#pragma once

#include <algorithm>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/cpu/thread_pool.hpp"
#include "support/catch.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// Short names for making a LoopProgram.
struct Maker {
  LoopProgram p;

  ExprPool& pool() { return p.pool; }
  BufferId argument(const std::string& name, DType type,
                    std::initializer_list<std::int64_t> shape) {
    return argument(name, type, std::vector<std::int64_t>(shape));
  }
  BufferId argument(const std::string& name, DType type, const std::vector<std::int64_t>& shape) {
    const BufferId id = buffer(name, type, shape, Scope::global);
    p[id].argument = static_cast<std::int32_t>(p.arguments.size());
    p.arguments.push_back(id);
    return id;
  }
  BufferId buffer(const std::string& name, DType type, const std::vector<std::int64_t>& shape,
                  Scope scope) {
    Buffer b;
    b.name = name;
    b.dtype = type;
    b.scope = scope;
    for (std::int64_t extent : shape) {
      b.shape.push_back(extent);
    }
    return p.add(b);
  }
  VarId var(const std::string& name) { return p.pool.new_var(name); }
  ExprId v(VarId id) { return p.pool.var(id); }
  ExprId i(std::int64_t value) { return p.pool.int_imm(value); }
  ExprId f(double value, DType type = DType::f32) { return p.pool.float_imm(value, type); }
  ExprId load(BufferId b, const ExprList& at) { return p.pool.load(b, p[b].dtype, at); }
  StmtId store(BufferId b, const ExprList& at, ExprId value) {
    return p.add(Stmt(Store{b, at, value}));
  }
  StmtId loop(VarId var, ExprId extent, ForKind kind, StmtId body) {
    return p.add(Stmt(For{var, extent, kind, body}));
  }
  StmtId loop(VarId var, std::int64_t extent, ForKind kind, StmtId body) {
    return loop(var, i(extent), kind, body);
  }
  StmtId seq(std::vector<StmtId> items) { return p.add(Stmt(Seq{std::move(items)})); }
  StmtId alloc(BufferId b, StmtId body) { return p.add(Stmt(Alloc{b, body})); }
  StmtId branch(ExprId condition, StmtId then_body, StmtId else_body = {}) {
    return p.add(Stmt(If{condition, then_body, else_body}));
  }
};

/// Memory with an inaccessible page close behind and a known pattern around the data.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    const std::size_t page = 4096;
    const std::size_t padded = (bytes_ + 63) / 64 * 64;
    mapped_ = (padded + 2 * page - 1) / page * page;
    base_ = static_cast<char*>(::mmap(nullptr, mapped_ + page, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TENSORSMITH_ASSERT(base_ != MAP_FAILED, "mmap");
    TENSORSMITH_ASSERT(::mprotect(base_ + mapped_, page, PROT_NONE) == 0, "mprotect");
    std::memset(base_, 0x5A, mapped_);
    data_ = base_ + mapped_ - padded;
    total_ = mapped_ + page;
  }
  ~GuardedMemory() { ::munmap(base_, total_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  char* data() const { return data_; }
  bool is_intact() const {
    for (const char* at = base_; at != base_ + mapped_; ++at) {
      if ((at < data_ || at >= data_ + bytes_) && *at != 0x5A) {
        return false;
      }
    }
    return true;
  }

 private:
  std::size_t bytes_, mapped_ = 0, total_ = 0;
  char* base_ = nullptr;
  char* data_ = nullptr;
};

/// How often a word stands in a text.
inline std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

inline bool host_runs(const Target& target) {
  return target.name == "host" || target.isa <= probe_host().isa;
}

/// The host and the named levels, for code generation.
inline std::vector<Target> code_targets() {
  return {host_target(), Target::x86_64_v4(), Target::x86_64_v3(), Target::x86_64_v2()};
}

/// How far two elements may be apart: contraction, other orders of rounding, polynomials.
inline bool is_close(double got, double want, DType type) {
  if (got == want || (got != got && want != want)) {
    return true;
  }
  const double relative = type == DType::f64    ? 1e-12
                          : type == DType::f32  ? 2e-5
                          : type == DType::f16  ? 2e-3
                          : type == DType::bf16 ? 2e-2
                                                : 0.0;
  return is_float(type) && std::fabs(got - want) <= relative * std::max(1.0, std::fabs(want));
}

inline Result<std::vector<HostArray>, std::string>
run_compiled_as(bool is_serial, const LoopProgram& program, std::vector<HostArray> arrays,
                const Target& target, int num_threads) {
  LlvmOptions options;
  options.verify_module = true;
  options.is_serial = is_serial;
  LlvmCompiler compiler(target, options);
  auto object = compiler.compile(program, "kernel");
  if (!object) {
    return fail(object.error());
  }
  if (!host_runs(target)) {
    return arrays;
  }
  auto kernel = JitKernel::load(*object);
  if (!kernel) {
    return fail(kernel.error());
  }
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void*> pointers;
  for (const HostArray& array : arrays) {
    memory.push_back(std::make_unique<GuardedMemory>(static_cast<std::int64_t>(array.data.size())));
    std::memcpy(memory.back()->data(), array.data.data(), array.data.size());
    pointers.push_back(memory.back()->data());
  }
  ThreadPool pool(num_threads);
  GuardedMemory workspace(kernel->workspace_bytes(num_threads));
  kernel->entry()(pointers.data(), workspace.data(), &pool.runtime());
  if (!workspace.is_intact()) {
    return fail(std::string("wrote outside of the workspace"));
  }
  const std::vector<HostArray> inputs = arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!memory[i]->is_intact()) {
      return fail("wrote outside of argument " + std::to_string(i));
    }
    std::memcpy(arrays[i].data.data(), memory[i]->data(), arrays[i].data.size());
  }
  for (const std::int32_t place : object->overwritable) {  // the same with the result in its memory
    std::size_t result = 0;
    while (arrays[result].data == inputs[result].data && result + 1 < arrays.size()) {
      ++result;
    }
    const auto input = static_cast<std::size_t>(place);
    const std::vector<std::byte>& before = inputs[input].data;
    const auto run_from = [&](const std::vector<void*>& where) {  // elements may stay unwritten
      std::memcpy(memory[result]->data(), before.data(), before.size());
      kernel->entry()(where.data(), workspace.data(), &pool.runtime());
      const auto* data = reinterpret_cast<const std::byte*>(memory[result]->data());
      return std::vector<std::byte>(data, data + before.size());
    };
    const std::vector<std::byte> apart = run_from(pointers);
    std::vector<void*> in_place = pointers;
    in_place[input] = pointers[result];
    if (run_from(in_place) != apart) {
      return fail("gives other values in the memory of argument " + std::to_string(place));
    }
  }
  return arrays;
}

/// Compiled results, or the reason why there are none. Serial code must give the same bits.
inline Result<std::vector<HostArray>, std::string>
run_compiled(const LoopProgram& program, const std::vector<HostArray>& arrays, const Target& target,
             int num_threads = 1) {
  auto results = run_compiled_as(false, program, arrays, target, num_threads);
  const auto serial = run_compiled_as(true, program, arrays, target, num_threads);
  if (results && !serial) {
    return fail("serial code: " + serial.error());
  }
  for (std::size_t i = 0; results && i < results->size(); ++i) {
    if ((*results)[i].data != (*serial)[i].data) {
      return fail("serial code gives other values for argument " + std::to_string(i));
    }
  }
  return results;
}

/// Zeros for every argument, inputs filled with small numbers (integers if `is_exact`).
inline std::vector<HostArray> make_arrays(const LoopProgram& program, CounterRng& rng,
                                          bool is_exact = false) {
  std::vector<HostArray> arrays;
  for (BufferId id : program.arguments) {
    const Buffer& b = program[id];
    HostArray array(b.dtype, std::vector<std::int64_t>(b.shape.begin(), b.shape.end()));
    for (std::int64_t n = 0; n < array.num_elements(); ++n) {
      if (is_float(b.dtype) && !is_exact) {
        array.set_real(n, rng.next_double() * 4.0 - 2.0);
      } else {
        array.set_int(n, static_cast<std::int64_t>(rng.next_below(9)) -
                             (b.dtype == DType::u8 ? 0 : 4));
      }
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

/// "" if the compiled program does what the interpreter does, else what differs.
inline std::string difference(const LoopProgram& program, const std::vector<HostArray>& arrays,
                              const Target& target, int num_threads = 1) {
  std::vector<HostArray> want = arrays;
  if (const auto evaluated = eval(program, want); !evaluated) {
    return "interpreter: " + explain(evaluated.error(), program);
  }
  const auto got = run_compiled(program, arrays, target, num_threads);
  if (!got) {
    return got.error();
  }
  if (!host_runs(target)) {
    return "";
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    for (std::int64_t n = 0; n < want[i].num_elements(); ++n) {
      const double x = (*got)[i].get_real(n);
      const double y = want[i].get_real(n);
      if (!is_close(x, y, want[i].dtype)) {
        return target.name + ": argument " + std::to_string(i) + "[" + std::to_string(n) + "] is " +
               std::to_string(x) + ", not " + std::to_string(y);
      }
    }
  }
  return "";
}

/// The first difference on any target, with data from the test's seed; "" if there is none.
inline std::string any_difference(const LoopProgram& program, int num_threads = 1,
                                  bool is_exact = false) {
  CounterRng rng(seed(), 77);
  const std::vector<HostArray> arrays = make_arrays(program, rng, is_exact);
  for (const Target& target : code_targets()) {
    std::string found = difference(program, arrays, target, num_threads);
    if (!found.empty()) {
      return target.name + ": " + found;
    }
  }
  return "";
}
inline void check_program(const LoopProgram& program, int num_threads = 1, bool is_exact = false) {
  CHECK(any_difference(program, num_threads, is_exact) == "");
}

}  // namespace tensorsmith::test

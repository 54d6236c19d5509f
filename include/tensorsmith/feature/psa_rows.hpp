// SPDX-License-Identifier: Apache-2.0
// psa_rows: what the analytic draft of Pruner (PSA) counts in a program, a row per stored buffer.
//
// Floor 5. Pruner, ch. 2.2 and 2.3. Words, not bytes; what repeats is charged to every thread and
// block. Of several stores to a buffer the last counts, but for the traffic of registers, which
// adds up. Not here: what that takes (cost/psa.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/access_sequence.hpp"
#include "tensorsmith/feature/annotation.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/feature/loop_uses.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"

namespace tensorsmith {

/// One stored buffer.
struct PsaRow {
  double thread_ops = 0;        ///< float operations of one thread, those of its virtual ones too
  double total_ops = 0;         ///< of all threads of all blocks
  double register_words = 0;    ///< that a thread holds at once
  double register_traffic = 0;  ///< words that a thread reads and writes
  double shared_words = 0;      ///< that a block copies into shared memory
  double dram_words = 0;        ///< of all blocks
  double reuse = 1;             ///< 1 + operations per word of register traffic
  double is_gpu = 0;
  double num_blocks = 1, num_threads = 1, num_vthreads = 1;
};

inline constexpr std::array<std::string_view, 11> psa_tags{
    "thread_ops", "total_ops", "register_words", "register_traffic", "shared_words", "dram_words",
    "reuse",      "is_gpu",    "num_blocks",     "num_threads",      "num_vthreads"};
inline constexpr std::string_view psa_block_name = "psa";

namespace detail {

/// Into the row of a buffer, whose threads are known and whose register traffic is kept.
/// `words(i, of_result)`: iterations of the loops that access `i` uses, of those that the result
/// uses too; the result is access 0.
template <class Words>
void count_store(double iterations, double float_ops, bool is_shared, std::size_t num_accesses,
                 const Words& words, PsaRow& row) {
  row.thread_ops = iterations * float_ops;
  row.total_ops = row.thread_ops * row.num_blocks * row.num_threads;
  row.register_words = row.shared_words = row.dram_words = 0;
  row.reuse = 1;
  if (row.thread_ops != 0) {
    for (std::size_t i = 0; i < num_accesses; ++i) {
      row.register_words += words(i, true);
      row.register_traffic += words(i, false);
    }
  } else if (is_shared) {
    row.shared_words = words(num_accesses - 1, true) * row.num_threads;
    row.dram_words = row.shared_words * row.num_blocks;
  } else {
    row.dram_words = iterations * row.num_blocks * row.num_threads;
  }
  if (row.thread_ops != 0 && row.register_traffic != 0) {
    row.reuse = 1 + row.thread_ops / row.register_traffic;
  }
}

/// A store and the loops around it, as the counts need them.
class PsaStore {
 public:
  PsaStore(const StoreProgram& program, const FeatureStore& store)
      : program_(program), store_(store), annotations_(annotation_features(program, store)) {
    for (const OpenFeatureLoop& open : store.loops) {
      const FeatureLoop& loop = program.loops[static_cast<std::size_t>(open.loop)];
      runs_.push_back(loop.constant_extent());
      const bool is_bound =
          is_thread_annotation(loop.annotation) && loop.annotation != Annotation::vthread;
      iterations_ *= is_bound ? 1.0 : runs_.back();
      stands_for_itself_.push_back(loop.annotation != Annotation::block_x &&
                                   loop.annotation != Annotation::thread_x);
    }
    const std::vector<bool> used = used_vars(store.accesses[0]);
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      is_in_result_.push_back(uses(used, p));
    }
  }

  /// Into the row of the buffer, which keeps its register traffic.
  void count(PsaRow& row) const {
    const OpCounts& counts = store_.counts;
    const double ops =
        counts[OpClass::float_addsub] + counts[OpClass::float_mul] + counts[OpClass::float_divmod];
    row.num_blocks = product(annotations_.block);
    row.num_threads = product(annotations_.thread);
    row.num_vthreads = annotations_.vthread;
    row.is_gpu = annotations_.is_gpu ? 1.0 : row.is_gpu;
    const bool is_shared = scope_of(program_, store_.tensor) == FeatureScope::shared;
    count_store(
        iterations_, ops, is_shared, store_.accesses.size(),
        [&](std::size_t i, bool of_result) { return words(store_.accesses[i], of_result); }, row);
  }

 private:
  static double product(const std::array<double, 3>& lengths) {
    return lengths[0] * lengths[1] * lengths[2];
  }
  /// Of the pool: the variables that the indices of an access have.
  std::vector<bool> used_vars(const FeatureAccess& access) const {
    std::vector<bool> used(program_.pool.num_vars(), false);
    for (const algebra::Ref index : access.indices) {
      mark_vars(index, used);
    }
    return used;
  }
  void mark_vars(algebra::Ref ref, std::vector<bool>& used) const {
    const algebra::Node& node = program_.pool[ref];
    if (node.op == algebra::Op::var) {
      used[static_cast<std::size_t>(node.value)] = true;
    }
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      mark_vars(program_.pool.operand(node, i), used);
    }
  }
  bool uses(const std::vector<bool>& used, std::size_t position) const {
    const auto loop = static_cast<std::size_t>(store_.loops[position].loop);
    return any_item(program_.loops[loop].vars,
                    [&](std::int32_t var) { return used[static_cast<std::size_t>(var)]; });
  }
  /// Iterations of the loops that the access uses, of those that the result uses too.
  double words(const FeatureAccess& access, bool of_result) const {
    const std::vector<bool> used = used_vars(access);
    double count = 1;
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (stands_for_itself_[p] && (!of_result || is_in_result_[p]) && uses(used, p)) {
        count *= runs_[p];
      }
    }
    return count;
  }

  const StoreProgram& program_;
  const FeatureStore& store_;
  AnnotationFeatures annotations_;
  double iterations_ = 1;  ///< of one thread
  std::vector<double> runs_;
  std::vector<bool> stands_for_itself_, is_in_result_;
};

}  // namespace detail

/// In the order of the first store to each buffer.
inline std::vector<PsaRow> psa_rows(const StoreProgram& program) {
  std::vector<PsaRow> rows;
  std::vector<TensorId> tensors;
  for (const FeatureStore& store : program.stores) {
    std::size_t at = 0;
    while (at < tensors.size() && tensors[at] != store.tensor) {
      ++at;
    }
    if (at == tensors.size()) {
      tensors.push_back(store.tensor);
      rows.emplace_back();
    }
    detail::PsaStore(program, store).count(rows[at]);
  }
  return rows;
}

namespace detail {

/// A store of LoopUses, as PsaStore counts. False if it is not plain what an access depends on.
inline bool count_known_store(const LoopUses& uses, const LoopUses::Stage& stage,
                              const CountedStore& store, PsaRow& row) {
  double iterations = 1;
  std::array<double, 6> bound{1, 1, 1, 1, 1, 1};  // blocks and threads along x, y, z
  LoopSet counted;
  const std::span nest(stage.nest.data(), store.num_loops);
  for (const std::uint32_t number : nest) {
    const CountedLoop& loop = uses.loops()[number];
    const auto extent = static_cast<double>(loop.extent);
    const bool is_bound = is_thread_annotation(loop.annotation);
    row.is_gpu = is_bound ? 1.0 : row.is_gpu;
    if (is_bound && loop.annotation != Annotation::vthread) {
      bound[static_cast<std::size_t>(loop.annotation) -
            static_cast<std::size_t>(Annotation::block_x)] = extent;
    } else {
      iterations *= extent;
      row.num_vthreads *= is_bound ? extent : 1.0;
    }
    if (loop.annotation != Annotation::block_x && loop.annotation != Annotation::thread_x) {
      counted.add(number);
    }
  }
  for (const CountedAccess& access : store.accesses) {
    if (!(access.unsure & counted).is_within(access.loops)) {
      return false;
    }
  }
  if (store.float_ops == 0 && store.is_shared && store.accesses.size() > 2) {
    return false;  // which one is the last is up to the simplified expression
  }
  row.num_blocks = bound[0] * bound[2] * bound[4];
  row.num_threads = bound[1] * bound[3] * bound[5];
  const auto words = [&](std::size_t i, bool of_result) {
    const LoopSet used = store.accesses[i].loops & counted;
    double count = 1;
    for (const std::uint32_t number : nest) {
      if (used.has(number) && (!of_result || store.accesses[0].loops.has(number))) {
        count *= static_cast<double>(uses.loops()[number].extent);
      }
    }
    return count;
  };
  count_store(iterations, store.float_ops, store.is_shared, store.accesses.size(), words, row);
  return true;
}

}  // namespace detail

/// The same by numbers alone, where that can be told (feature/loop_uses.hpp).
inline std::optional<std::vector<PsaRow>> counted_psa_rows(const State& state) {
  const std::optional<detail::LoopUses> uses = detail::LoopUses::of(state);
  if (!uses) {
    return std::nullopt;
  }
  std::vector<PsaRow> rows;
  for (const auto& [s, k] : uses->order()) {
    const detail::LoopUses::Stage& stage = uses->stage(s);
    rows.emplace_back();
    if (!detail::count_known_store(*uses, stage, stage.stores[k], rows.back())) {
      return std::nullopt;
    }
  }
  return rows;
}

inline const Shared<const BlockSchema>& psa_schema() {
  static const Shared<const BlockSchema> schema = make_shared_of<const BlockSchema>(
      std::string(psa_block_name), std::vector<std::string>(psa_tags.begin(), psa_tags.end()));
  return schema;
}

inline void write_psa_row(std::span<float> out, const PsaRow& row) {
  const std::array<double, psa_tags.size()> values{
      row.thread_ops,   row.total_ops,   row.register_words, row.register_traffic,
      row.shared_words, row.dram_words,  row.reuse,          row.is_gpu,
      row.num_blocks,   row.num_threads, row.num_vthreads};
  for (std::size_t c = 0; c < values.size(); ++c) {
    out[c] = static_cast<float>(values[c]);
  }
}
inline PsaRow read_psa_row(std::span<const float> values) {
  PsaRow row;
  double* const fields[] = {
      &row.thread_ops,   &row.total_ops,   &row.register_words, &row.register_traffic,
      &row.shared_words, &row.dram_words,  &row.reuse,          &row.is_gpu,
      &row.num_blocks,   &row.num_threads, &row.num_vthreads};
  for (std::size_t c = 0; c < psa_tags.size(); ++c) {
    *fields[c] = values[c];
  }
  return row;
}

/// The row of the feature table.
inline FeatureExtractor psa_block() {
  return {psa_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            std::optional<std::vector<PsaRow>> rows = counted_psa_rows(view.state());
            if (!rows) {
              const auto& stores = view.part<store_program_of>(context);
              rows = stores ? psa_rows(*stores) : std::vector<PsaRow>();
            }
            for (const PsaRow& row : *rows) {
              write_psa_row(block.add_row(), row);
            }
            return block.num_rows > 0;
          }};
}

}  // namespace tensorsmith

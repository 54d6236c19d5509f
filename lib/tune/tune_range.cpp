// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/constant_arguments.hpp"
#include "tensorsmith/te/row_arguments.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/measure_once.hpp"
#include "tensorsmith/tune/range.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tune/part_times.hpp"
#include "tune/session.hpp"

namespace tensorsmith {

struct RangeKernel::Impl {
  RangePlan plan;
  std::vector<Kernel> kernels;              // by plan.sizes
  std::vector<KernelParameter> parameters;  // of the call that is checked
  std::vector<std::int64_t> row_elements, row_bytes;
  std::vector<void*> pointers;
};

void RangeKernel::call(std::int64_t rows, std::span<const KernelOperand> operands) const {
  Impl& impl = *impl_;
  if (rows < impl.plan.first || rows > impl.plan.last) {
    throw Error("RangeKernel: the number of rows must be in " + std::to_string(impl.plan.first) +
                ".." + std::to_string(impl.plan.last) + ", is " + std::to_string(rows));
  }
  for (std::size_t i = 0; i < impl.parameters.size(); ++i) {
    if (impl.row_elements[i] > 0) {
      impl.parameters[i].num_elements = rows * impl.row_elements[i];
    }
  }
  if (const std::string problem = check_operands(impl.parameters, operands); !problem.empty()) {
    throw Error("RangeKernel: " + problem);
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    impl.pointers[i] = const_cast<void*>(operands[i].data);
  }
  while (rows > 0) {
    const auto k = static_cast<std::size_t>(impl.plan.next[static_cast<std::size_t>(rows)]);
    impl.kernels[k].call_unchecked(impl.pointers.data());
    const std::int64_t size = impl.plan.sizes[k];
    for (std::size_t i = 0; i < impl.pointers.size(); ++i) {
      impl.pointers[i] = static_cast<std::byte*>(impl.pointers[i]) + size * impl.row_bytes[i];
    }
    rows -= size;
  }
}

RangeKernel RangeResult::kernel() const {
  if (members.empty()) {
    throw Error("RangeResult::kernel: no kernel was found");
  }
  Shared<RangeKernel::Impl> impl = make_shared_of<RangeKernel::Impl>();
  impl->plan = plan;
  impl->row_elements = row_elements;
  impl->parameters = members.front().signature.parameters;
  const Runtime runtime(members.front().num_threads);
  for (const TuneResult& member : members) {
    const std::string problem = make_backend(member.task.target)->call_problem();
    if (!problem.empty()) {
      throw Error("RangeResult::kernel: " + problem);
    }
    impl->kernels.emplace_back(member.signature, member.object, runtime);
    for (std::size_t i = 0; i < impl->parameters.size(); ++i) {
      impl->parameters[i].is_overwritable =
          impl->parameters[i].is_overwritable && member.signature.parameters[i].is_overwritable;
    }
  }
  for (std::size_t i = 0; i < impl->parameters.size(); ++i) {
    impl->row_bytes.push_back(row_elements[i] * bytes_of(impl->parameters[i].dtype));
  }
  impl->pointers.resize(impl->parameters.size());
  return RangeKernel(std::move(impl));
}

namespace {

class RangeRun {
 public:
  RangeRun(const TaskOfRows& task, std::int64_t first, std::int64_t last,
           const RangeOptions& options)
      : task_(task), first_(first), last_(last), options_(options) {
    if (first < 1 || last < first || last > most_range_rows) {
      throw Error("tune_range: expected 1 <= first <= last <= " + std::to_string(most_range_rows) +
                  ", got " + std::to_string(first) + ".." + std::to_string(last));
    }
    if (!task) {
      throw Error("tune_range: expected a function that makes the task, got none");
    }
    if (options.most_members < 1) {
      throw Error("tune_range: most_members must be at least 1");
    }
    if (options.tune.resumes) {
      throw Error("tune_range: a range is not resumed; tune it again, the journal's programs are "
                  "tried first");
    }
  }

  RangeResult run() {
    check_rows();
    for (const std::int64_t rows : first_sizes()) {
      if (!add(rows)) {
        break;
      }
    }
    WorstRows worst = replan();
    while (worst.rows > 0 && worst.ratio > options_.good_ratio &&
           tuned_.size() < options_.most_members && add(worst.rows) &&
           tuned_.contains(worst.rows)) {
      worst = replan();
    }
    spend_the_rest();
    return take(replan());
  }

  RangeResult replay(const JournalContents& records) {
    check_rows();
    std::set<std::string> recorded;
    for (const Record& record : records.records) {
      recorded.insert(record.workload);
    }
    std::vector<std::string> skipped;
    for (std::int64_t rows = 1; rows <= last_; ++rows) {
      const TuneTask task = task_(rows);
      if (!recorded.contains(name_of(task))) {
        continue;
      }
      const auto best = best_replayed(records, task.dag, name_of(task), task.target.name,
                                      options_.tune.num_threads, skipped);
      if (best) {
        TuneResult known;
        known.task = task;
        known.num_threads = options_.tune.num_threads;
        known.steps = best->state.steps();
        known.summary.best_ns = best->record.median_ns;
        known.summary.is_verified = best->record.is_verified;
        tuned_.emplace(rows, Member{std::move(known), best->record.median_ns});
      }
    }
    replan();
    if (result_.plan.has_all()) {
      compile_used();
    }
    return take(replan());
  }

 private:
  void check_rows() {
    const TuneTask whole = task_(last_);
    const std::vector<bool> is_constant = constant_arguments(*whole.dag);
    if (std::find(is_constant.begin(), is_constant.end(), true) != is_constant.end()) {
      throw Error("tune_range: each kernel would pack its constant inputs in an order of its own; "
                  "give the computation without free layouts");
    }
    result_.row_elements = rows_of(whole, last_, task_(last_ + 1), last_ + 1);
    part_times_.emplace(whole, last_, result_.row_elements);
  }

  RangeResult take(const WorstRows& worst) {
    result_.worst_ratio = worst.ratio;
    take_members();
    result_.num_tuned = tuned_.size();
    result_.seconds = seconds();
    return std::move(result_);
  }

  static std::vector<std::int64_t> rows_of(const TuneTask& task, std::int64_t rows,
                                           const TuneTask& other, std::int64_t other_rows) {
    auto elements = te::row_arguments(*task.dag, rows, *other.dag, other_rows);
    if (!elements) {
      throw Error("tune_range: its rows cannot be computed in parts: " + elements.error());
    }
    return std::move(elements).value();
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// The powers of two and the largest: any number of rows is a sum of some. The smallest one
  /// first: with it there is a plan. One number of rows alone has no parts.
  std::vector<std::int64_t> first_sizes() const {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 1; first_ < last_ && size < last_; size *= 2) {
      sizes.push_back(size);
    }
    sizes.push_back(last_);
    return sizes;
  }

  /// False: there is no time, or the run was ended.
  bool add(std::int64_t rows) {
    const TuneBudget& all = options_.tune.budget;
    const auto share = static_cast<std::int64_t>(options_.most_members);
    return search(rows, {all.seconds / static_cast<double>(share),
                         all.trials > 0 ? std::max<std::int64_t>(1, all.trials / share) : 0});
  }

  /// One search, of other programs each time; the best of all counts.
  bool search(std::int64_t rows, TuneBudget budget) {
    const TuneBudget& all = options_.tune.budget;
    if (all.seconds > 0) {
      budget.seconds = std::min(budget.seconds, all.seconds - seconds());
    }
    if ((all.seconds > 0 && budget.seconds <= 0) ||
        (all.trials > 0 && result_.trials >= all.trials)) {
      return false;
    }
    TuneOptions options = options_.tune;
    options.budget = budget;
    const auto known = tuned_.find(rows);
    options.seed += known == tuned_.end() ? 0 : 1;
    const TuneTask task = task_(rows);
    if (rows != last_) {
      (void)rows_of(task, rows, task_(last_), last_);
    }
    TuneResult tuned = searched(task, options);
    if (!tuned.has_best() && !tuned.summary.is_cancelled && known == tuned_.end() &&
        (all.seconds <= 0 || tuned_.empty() || seconds() < all.seconds)) {
      options.budget = {0, 0};  // so little time is enough for the analytic model's program only
      tuned = searched(task, options);
    }
    const double ns = tuned.summary.best_ns;
    if (tuned.has_best()) {
      const double part_ns = part_times_->of(tuned, rows);
      if (known == tuned_.end() || part_ns < known->second.part_ns) {
        tuned_.insert_or_assign(rows, Member{std::move(tuned), part_ns});
      }
    }
    if (options_.on_member) {
      options_.on_member({rows, ns, tuned_.size(), seconds(), replan().ratio});
    }
    return !result_.is_cancelled;
  }

  TuneResult searched(const TuneTask& task, const TuneOptions& options) {
    TuneResult tuned = tune(task, options);
    result_.trials += tuned.summary.trials;
    result_.is_cancelled = result_.is_cancelled || tuned.summary.is_cancelled;
    return tuned;
  }

  /// On the kernels that the plan uses.
  void spend_the_rest() {
    if (!result_.plan.has_all()) {
      return;
    }
    const TuneBudget& all = options_.tune.budget;
    const std::vector<bool> is_used = result_.plan.used();
    auto left = std::count(is_used.begin(), is_used.end(), true);
    const std::vector<std::int64_t> sizes = result_.plan.sizes;
    for (std::size_t k = sizes.size(); k-- > 0;) {  // the slowest ones first
      if (!is_used[k]) {
        continue;
      }
      // A kernel that gets less than in the first pass would find nothing new.
      const TuneBudget budget = {(all.seconds - seconds()) / static_cast<double>(left),
                                 (all.trials - result_.trials) / left};
      const bool is_short =
          all.seconds > 0
              ? budget.seconds * static_cast<double>(options_.most_members) < all.seconds
              : budget.trials < 1;
      if (result_.is_cancelled || is_instant(options_.tune) || is_short ||
          !search(sizes[k],
                  {std::max(budget.seconds, 0.0), std::max<std::int64_t>(budget.trials, 0)})) {
        return;
      }
      --left;
    }
  }

  WorstRows replan() {
    std::vector<std::int64_t> sizes;
    std::vector<double> times;
    for (const auto& [rows, member] : tuned_) {
      sizes.push_back(rows);
      times.push_back(member.part_ns);
    }
    result_.plan = plan_range(first_, last_, std::move(sizes), times);
    return worst_rows(result_.plan);
  }

  /// Those that the plan uses; none if it leaves a number out.
  void take_members() {
    const RangePlan& plan = result_.plan;
    const std::vector<bool> is_used =
        plan.has_all() ? plan.used() : std::vector<bool>(plan.sizes.size(), false);
    std::vector<std::int64_t> sizes;
    std::vector<double> times;
    for (std::size_t k = 0; k < is_used.size(); ++k) {
      if (is_used[k]) {
        const Member& member = tuned_.at(plan.sizes[k]);
        sizes.push_back(plan.sizes[k]);
        times.push_back(member.part_ns);
        result_.members.push_back(member.result);
      }
    }
    result_.plan = plan_range(first_, last_, std::move(sizes), times);
  }

  /// Of recorded schedules: code, and their times as parts; the others are left out.
  void compile_used() {
    const std::vector<bool> is_used = result_.plan.used();
    const std::vector<std::int64_t> sizes = result_.plan.sizes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (!is_used[k]) {
        tuned_.erase(sizes[k]);
        continue;
      }
      Member& member = tuned_.at(sizes[k]);
      const TuneResult known = std::move(member.result);
      member.result =
          compile_once(known.task, replay_steps(known.task.dag, known.steps), known.num_threads);
      member.result.summary = known.summary;
      member.part_ns = part_times_->of(member.result, sizes[k]);
    }
  }

  struct Member {
    TuneResult result;
    double part_ns = 0;  ///< as a part of the largest call
  };

  const TaskOfRows& task_;
  std::int64_t first_, last_;
  const RangeOptions& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::int64_t, Member> tuned_;  // by rows, those with a kernel
  std::optional<PartTimes> part_times_;
  RangeResult result_;
};

}  // namespace

RangeResult tune_range(const TaskOfRows& task, std::int64_t first, std::int64_t last,
                       const RangeOptions& options) {
  return RangeRun(task, first, last, options).run();
}

RangeResult recorded_range(const TaskOfRows& task, std::int64_t first, std::int64_t last,
                           const JournalContents& records, std::int32_t num_threads) {
  RangeOptions options;
  options.tune.num_threads = num_threads;
  return RangeRun(task, first, last, options).replay(records);
}

}  // namespace tensorsmith

// SPDX-License-Identifier: Apache-2.0
// tensorsmith network bench: time of the whole and of every kernel, in turns with the network as it
// is written, whose results are compared first.
#include <algorithm>

#include <fmt/format.h>

#include "command.hpp"
#include "network_callable.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::cli {
namespace {

using graph::Spread;
using graph::spread_of;

Json json_of(const Spread& spread) {
  return {{"best_ns", spread.best},
          {"median_ns", spread.median},
          {"p10_ns", spread.p10},
          {"p90_ns", spread.p90}};
}

/// The same network with every kernel as it is written, and results of its own.
struct Plain {
  Owned<graph::Executor> network;
  std::vector<HostArray> arrays;
  std::vector<KernelOperand> operands;
};
Plain plain_network(const Callable& made, const NetworkArguments& arguments) {
  Plain plain;
  plain.network = make_owned<graph::Executor>(
      made.loaded.net, made.loaded.parts,
      graph::plain_kernels(made.loaded.parts, arguments.num_threads), arguments.num_threads);
  plain.arrays = made.arrays;
  plain.operands = graph::operands_of(made.loaded.net, plain.arrays);
  return plain;
}

/// Above that many operations a call of plain loops takes tens of seconds.
constexpr double most_plain_flop = 4e9;

struct Raced {
  Spread ours, plain;
  bool has_plain = false;
  double ratio = 0, ratio_p10 = 0, ratio_p90 = 0;  ///< plain / ours, of neighbouring calls
  double difference = 0;                           ///< to the plain results
};

double seconds_of(const NetworkArguments& arguments) { return arguments.seconds.value_or(10); }

/// Rounds in turns; at least one, and no more than `seconds` of them.
Raced race(Callable& made, Plain* plain, const NetworkArguments& arguments) {
  Raced raced;
  made.network->call(made.operands);  // pages and caches
  if (plain != nullptr) {
    plain->network->call(plain->operands);
    raced.has_plain = true;
    raced.difference = largest_difference(made.arrays, made.loaded.net.inputs.size(), plain->arrays,
                                          made.loaded.net.inputs.size());
  }
  std::vector<double> ours, theirs, ratios;
  const double begin = now_seconds();
  for (int round = 0;
       round < arguments.rounds && (round == 0 || now_seconds() - begin < seconds_of(arguments));
       ++round) {
    if (plain != nullptr) {
      theirs.push_back(timed_call(*plain->network, plain->operands));
      made.network->call(made.operands);  // the other one has had the caches
    }
    ours.push_back(timed_call(*made.network, made.operands));
    if (plain != nullptr) {
      ratios.push_back(theirs.back() / ours.back());
    }
  }
  raced.ours = spread_of(ours);
  if (plain != nullptr) {
    raced.plain = spread_of(theirs);
    const Spread ratio = spread_of(ratios);
    raced.ratio = ratio.median;
    raced.ratio_p10 = ratio.p10;
    raced.ratio_p90 = ratio.p90;
  }
  return raced;
}

Json kernel_json(const Callable& made, const graph::GroupProfile& each, double sum) {
  const graph::Group& group = made.loaded.parts.groups[each.group];
  const graph::NetworkTask& task = made.loaded.parts.tasks[group.task];
  return {{"operators", task.title},
          {"last", graph::describe_node(made.loaded.net, group.nodes.back())},
          {"task", group.task},
          {"best_ns", each.best_ns},
          {"median_ns", each.median_ns},
          {"p10_ns", each.p10_ns},
          {"p90_ns", each.p90_ns},
          {"gflops", each.median_ns > 0 ? task.flop / each.median_ns : 0},
          {"share", each.median_ns / sum}};
}

void print_kernel(const Callable& made, const graph::GroupProfile& each, double sum) {
  const graph::Group& group = made.loaded.parts.groups[each.group];
  const graph::NetworkTask& task = made.loaded.parts.tasks[group.task];
  fmt::print("{:>10}  {:>10} .. {:<10} {:>5}  {:8.1f} GFLOP/s  {}  {}\n",
             duration_text(each.median_ns), duration_text(each.p10_ns), duration_text(each.p90_ns),
             percent_text(each.median_ns / sum), task.flop / each.median_ns, task.title,
             graph::describe_node(made.loaded.net, group.nodes.back()));
}

void print_raced(const NetworkArguments& arguments, const Raced& raced, double flop) {
  fmt::print("{}: median {} ({} .. {}, least {}), {:.1f} GFLOP/s\n", arguments.network,
             duration_text(raced.ours.median), duration_text(raced.ours.p10),
             duration_text(raced.ours.p90), duration_text(raced.ours.best),
             flop / raced.ours.median);
  if (raced.has_plain) {
    fmt::print("as written: median {} ({} .. {}), {:.2f} times ours ({:.2f} .. {:.2f}); results "
               "differ by {:.1e} of the largest\n",
               duration_text(raced.plain.median), duration_text(raced.plain.p10),
               duration_text(raced.plain.p90), raced.ratio, raced.ratio_p10, raced.ratio_p90,
               raced.difference);
  }
}

}  // namespace

int bench_network(const NetworkArguments& arguments) {
  Callable made = callable(arguments);
  const double flop = total_flop(made.loaded.parts);
  const bool has_plain = arguments.races_plain || flop <= most_plain_flop;
  Plain plain;
  if (has_plain) {
    plain = plain_network(made, arguments);
  }
  const Raced raced = race(made, has_plain ? &plain : nullptr, arguments);
  const int repeats =
      std::clamp(static_cast<int>(1e9 * seconds_of(arguments) / math::fmax(raced.ours.median, 1.0)),
                 1, arguments.rounds);
  const std::vector<graph::GroupProfile> profile = made.network->profile(made.operands, repeats);
  double sum = 0;
  for (const graph::GroupProfile& each : profile) {
    sum += each.median_ns;
  }
  constexpr double most_apart = 1e-3;
  const bool is_right = raced.difference >= 0 && raced.difference < most_apart;
  if (arguments.is_json) {
    Json json = json_of(raced.ours);
    json["network"] = arguments.network;
    json["threads"] = arguments.num_threads;
    json["gflops"] = flop / raced.ours.median;
    json["tasks"] = made.loaded.parts.tasks.size();
    json["recorded"] = made.num_recorded;
    json["prepare_seconds"] = made.prepare_seconds;
    json["kernels_ns"] = sum;
    json["plain"] = raced.has_plain ? json_of(raced.plain) : Json(nullptr);
    if (raced.has_plain) {
      json["plain"]["ratio"] = raced.ratio;
      json["plain"]["ratio_p10"] = raced.ratio_p10;
      json["plain"]["ratio_p90"] = raced.ratio_p90;
      json["plain"]["difference"] = raced.difference;
    }
    json["kernels"] = Json::array();
    for (const graph::GroupProfile& each : profile) {
      json["kernels"].push_back(kernel_json(made, each, sum));
    }
    print_json(json);
  } else {
    for (const graph::GroupProfile& each : profile) {
      print_kernel(made, each, sum);
    }
    fmt::print("{:>10}  all {} kernels, {} of the network's time\n", duration_text(sum),
               profile.size(), percent_text(sum / raced.ours.median));
    print_raced(arguments, raced, flop);
    fmt::print("{} of {} tasks from the journal; callable after {:.2f} s\n", made.num_recorded,
               made.loaded.parts.tasks.size(), made.prepare_seconds);
  }
  if (!is_right) {
    warn("the network does not compute what its plain kernels do; tensorsmith network bisect names "
         "the node");
  }
  return is_right ? exit_ok : exit_failed;
}

}  // namespace tensorsmith::cli

// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/minimum_cut.hpp"
#include "support/catch.hpp"
#include "tensorsmith/graph/channels_last.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/simplify.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;
using graph::ChannelsLast;
using graph::List;

namespace {

/// Operators of planes of one to three spatial axes, with branches that meet again.
graph::Graph random_planes(std::uint32_t number) {
  CounterRng rng(test::seed(), 0x6C, number);
  const auto below = [&](std::uint32_t n) -> std::int64_t { return rng.next_below(n); };
  graph::Builder net("planes");
  const auto spatial = static_cast<std::size_t>(1 + below(3));
  graph::Shape shape{1 + below(2), 2 + below(4)};
  for (std::size_t a = 0; a < spatial; ++a) {
    shape.push_back(3 + below(4));
  }
  std::vector<graph::ValueId> values{net.input("x", shape)};
  for (std::int64_t left = 3 + below(6); left > 0; --left) {
    const graph::ValueId x =
        values[values.size() - 1 - static_cast<std::size_t>(below(2)) % values.size()];
    const graph::Shape at = net.shape(x);
    const std::int64_t c = at[1];
    const bool fits = *std::min_element(at.begin() + 2, at.end()) >= 3;
    const List kernel(spatial, fits ? 1 + below(3) : 1);
    const auto per_channel = [&] {
      graph::Shape made(below(2) == 0 ? 1 + spatial : 2 + spatial, 1);
      made[made.size() - 1 - spatial] = c;
      return net.uniform(made, 0.1, 1);
    };
    const auto weights = [&](std::int64_t first, std::int64_t second) {
      graph::Shape made{first, second};
      made.insert(made.end(), kernel.begin(), kernel.end());
      return net.weights(made);
    };
    graph::ValueId y;
    switch (below(13)) {
    case 0:
    case 1:
      y = net.add("Conv", {x, weights(1 + below(5), c), {}}, {{"pads", List(2 * spatial, 1)}});
      break;
    case 2:
      y = net.add("Conv", {x, weights(c, 1)}, {{"group", c}});
      break;
    case 3:
      y = net.add("ConvTranspose", {x, weights(c, 1 + below(3))});
      break;
    case 4:
      y = net.add("MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", List(spatial, 2)}});
      break;
    case 5:
      y = net.add("Relu", {x});
      break;
    case 6:
      y = net.add("Mul", {per_channel(), x});
      break;
    case 7:
      y = net.add("PRelu", {x, per_channel()});
      break;
    case 8:
      y = net.add("Concat", {x, net.add("Neg", {x})}, {{"axis", 1 - 2 * below(2)}});
      break;
    case 9:
      y = net.add("Softmax", {x}, {{"axis", below(static_cast<std::uint32_t>(at.size()))}});
      break;
    case 10: {
      const graph::ValueId mean =
          net.add("ReduceMean", {x, net.integers({-1})}, {{"keepdims", std::int64_t{1}}});
      y = net.add("Sub", {x, mean});
      break;
    }
    case 11: {
      List sizes(at.begin(), at.end());
      sizes.back() = 2 * sizes.back() - 1;
      y = net.add("Resize", {x, {}, {}, net.integers(sizes)}, {{"mode", std::string("linear")}});
      break;
    }
    default: {
      y = net.add("Transpose", {x});
      y = net.add("Transpose", {y});
      break;
    }
    }
    values.push_back(y);
  }
  net.output("y", values.back());
  net.output("z", values[values.size() / 2]);
  return net.finish();
}

void check_same(const std::vector<HostArray>& got, const std::vector<HostArray>& want) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    REQUIRE(got[k].shape == want[k].shape);
    for (std::int64_t i = 0; i < want[k].num_elements(); ++i) {
      const double w = want[k].get_real(i);
      CHECK(std::abs(got[k].get_real(i) - w) <= 1e-9 * (1 + std::abs(w)));
    }
  }
}

/// How many windows and how many other nodes were converted.
struct Converted {
  std::int64_t windows = 0, others = 0;
};
/// Converts nodes that can be, by lot, and compares.
Converted convert_some(graph::Graph net, std::uint32_t number) {
  const auto done = graph::simplify(net);
  INFO((done ? "" : done.error()));
  REQUIRE(done.has_value());
  const std::vector<HostArray> inputs = test::random_inputs(net, 3);
  const auto want = graph::interpret(net, inputs);
  REQUIRE(want.has_value());
  CounterRng rng(test::seed(), 0x6D, number);
  std::vector<bool> is_last;
  Converted count;
  for (const graph::Node& node : net.nodes) {
    const ChannelsLast can = graph::channels_last_of(net, node);
    is_last.push_back(can != ChannelsLast::never && rng.next_below(4) > 0);
    count.windows += is_last.back() && can == ChannelsLast::window ? 1 : 0;
    count.others += is_last.back() && can == ChannelsLast::follows ? 1 : 0;
  }
  const auto windows = graph::channels_last(net, is_last);
  INFO((windows ? "" : windows.error()));
  REQUIRE(windows.has_value());
  CHECK(*windows == count.windows);
  const auto got = graph::interpret(net, inputs);
  INFO((got ? "" : got.error()));
  REQUIRE(got.has_value());
  check_same(*got, *want);
  return count;
}

/// The least over all choices, every value in an order that it does not have made once, for `rate`
/// per element.
double least_cost(const graph::Graph& net, const std::vector<graph::WindowLayouts>& windows,
                  double rate) {
  std::vector<double> given(net.nodes.size(), 0), last = given;
  for (const graph::WindowLayouts& each : windows) {
    given[each.node] = each.given_ns;
    last[each.node] = each.last_ns;
  }
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < net.nodes.size(); ++i) {
    if (graph::channels_last_of(net, net.nodes[i]) != ChannelsLast::never) {
      open.push_back(i);
    }
  }
  REQUIRE(open.size() < 20);
  const std::vector<std::int32_t> producer = graph::producers(net);
  double best = INFINITY;
  for (std::size_t choice = 0; choice < std::size_t{1} << open.size(); ++choice) {
    std::vector<bool> is_last(net.nodes.size(), false);
    for (std::size_t k = 0; k < open.size(); ++k) {
      is_last[open[k]] = (choice >> k & 1U) != 0;
    }
    double sum = 0;
    for (std::size_t i = 0; i < net.nodes.size(); ++i) {
      sum += is_last[i] ? last[i] : given[i];
    }
    for (std::size_t v = 0; v < net.values.size(); ++v) {
      const graph::Value& value = net.values[v];
      if (value.is_constant || value.shape.size() < 3) {
        continue;
      }
      const bool has_last = producer[v] >= 0 && is_last[static_cast<std::size_t>(producer[v])];
      bool wants_other = false;
      const graph::ValueId id{static_cast<std::uint32_t>(v)};
      for (std::size_t i = 0; i < net.nodes.size(); ++i) {
        const auto& inputs = net.nodes[i].inputs;
        wants_other = wants_other || (std::find(inputs.begin(), inputs.end(), id) != inputs.end() &&
                                      is_last[i] != has_last);
      }
      wants_other = wants_other || (has_last && std::find(net.outputs.begin(), net.outputs.end(),
                                                          id) != net.outputs.end());
      std::int64_t others = 1;
      for (std::size_t d = 2; d < value.shape.size(); ++d) {
        others *= value.shape[d];
      }
      const bool is_free = value.shape[1] == 1 || others == 1;
      sum += wants_other && !is_free ? rate * static_cast<double>(graph::num_elements(value.shape))
                                     : 0;
    }
    best = std::min(best, sum);
  }
  return best;
}

}  // namespace

TEST_CASE("a minimum cut is the cheapest of all", "[graph]") {
  for (std::uint32_t number = 0; number < test::scaled(300); ++number) {
    CounterRng rng(test::seed(), 0x6E, number);
    const std::size_t count = 3 + rng.next_below(6);
    struct Edge {
      std::size_t from, to;
      std::int64_t cost;
    };
    std::vector<Edge> edges;
    graph::MinimumCut cut;
    for (std::size_t v = 2; v < count; ++v) {
      CHECK(cut.add_vertex() == v);
    }
    for (std::size_t e = 0; e < 3 * count; ++e) {
      const auto from = static_cast<std::size_t>(rng.next_below(static_cast<std::uint32_t>(count)));
      const auto to = static_cast<std::size_t>(rng.next_below(static_cast<std::uint32_t>(count)));
      if (from != to) {
        edges.push_back({from, to, static_cast<std::int64_t>(rng.next_below(20))});
        cut.add_edge(from, to, edges.back().cost);
      }
    }
    const auto cost_of = [&](const auto& is_far) {
      std::int64_t sum = 0;
      for (const Edge& edge : edges) {
        sum += !is_far(edge.from) && is_far(edge.to) ? edge.cost : 0;
      }
      return sum;
    };
    std::int64_t best = INT64_MAX;
    for (std::size_t choice = 0; choice < std::size_t{1} << (count - 2); ++choice) {
      best = std::min(best, cost_of([&](std::size_t v) {
                        return v == graph::MinimumCut::far ||
                               (v >= 2 && (choice >> (v - 2) & 1U) != 0);
                      }));
    }
    const std::vector<bool> found = cut.solve();
    INFO("graph " << number);
    CHECK_FALSE(found[graph::MinimumCut::near]);
    CHECK(found[graph::MinimumCut::far]);
    CHECK(cost_of([&](std::size_t v) { return static_cast<bool>(found[v]); }) == best);
  }
}

TEST_CASE("nodes with channels last compute the same", "[graph]") {
  Converted sum;
  const std::uint32_t cases = test::scaled(300);
  for (std::uint32_t number = 0; number < cases; ++number) {
    INFO("graph " << number);
    const Converted some = convert_some(random_planes(number), number);
    const Converted more = convert_some(test::RandomGraph(2000 + number).make(), number);
    sum.windows += some.windows + more.windows;
    sum.others += some.others + more.others;
  }
  CHECK(sum.windows > static_cast<std::int64_t>(cases) / 2);
  CHECK(sum.others > static_cast<std::int64_t>(cases) / 2);
}

TEST_CASE("agreed layouts cost least of all", "[graph]") {
  std::int64_t all_last = 0, none_last = 0, mixed = 0;
  for (std::uint32_t number = 0; number < test::scaled(200); ++number) {
    INFO("graph " << number);
    graph::Graph net = random_planes(number);
    REQUIRE(graph::simplify(net).has_value());
    CounterRng rng(test::seed(), 0x6F, number);
    std::vector<std::string> known;
    const double rate = 1 + rng.next_below(3);
    const auto cost_of = [&](const graph::NetworkTask& task) -> double {
      CHECK(std::find(known.begin(), known.end(), task.text) == known.end());
      known.push_back(task.text);
      if (task.title == "Transpose") {
        const auto& shape = task.dag->tensor(task.dag->arguments().back()).shape;
        return rate * static_cast<double>(graph::num_elements({shape.begin(), shape.end()}));
      }
      return rng.next_below(400);
    };
    const auto agreed = graph::agree_layouts(net, [&](std::span<const graph::NetworkTask> tasks) {
      std::vector<double> costs(tasks.size());
      std::transform(tasks.begin(), tasks.end(), costs.begin(), cost_of);
      return costs;
    });
    INFO((agreed ? "" : agreed.error()));
    REQUIRE(agreed.has_value());
    CHECK(std::abs(agreed->agreed_ns - least_cost(net, agreed->windows, rate)) < 1e-2);
    const auto count = static_cast<std::int64_t>(agreed->windows.size());
    (agreed->num_last == 0 ? none_last : agreed->num_last == count ? all_last : mixed) += 1;
    // What was agreed can be done.
    const std::vector<HostArray> inputs = test::random_inputs(net, 3);
    const auto want = graph::interpret(net, inputs);
    REQUIRE(want.has_value());
    REQUIRE(graph::channels_last(net, agreed->is_last).has_value());
    const auto got = graph::interpret(net, inputs);
    REQUIRE(got.has_value());
    check_same(*got, *want);
  }
  CHECK(all_last + none_last + mixed > 0);
  if (test::scaled(200) == 200) {  // enough of them
    CHECK(all_last > 0);
    CHECK(none_last > 0);
    CHECK(mixed > 0);
  }
}

TEST_CASE("rough costs decide where layouts are far apart or take next to nothing", "[graph]") {
  std::size_t num_asked = 0, num_rough = 0, num_different = 0;
  for (std::uint32_t number = 0; number < test::scaled(200); ++number) {
    INFO("graph " << number);
    graph::Graph net = random_planes(number);
    REQUIRE(graph::simplify(net).has_value());
    const auto cost_of = [&](const graph::NetworkTask& task, double apart) {
      CounterRng rng(hash_text(task.text), 0x70, number);
      const double cost = 1 + rng.next_below(400);
      return cost * (1 + apart * rng.next_below(1000) / 1000);
    };
    const auto costs = [&](double apart, std::size_t& count) {
      return [&cost_of, apart, &count](std::span<const graph::NetworkTask> tasks) {
        count += tasks.size();
        std::vector<double> made;
        for (const graph::NetworkTask& task : tasks) {
          made.push_back(cost_of(task, apart));
        }
        return made;
      };
    };
    std::size_t all = 0;
    const auto exact = graph::agree_layouts(net, costs(0, all));
    const auto mixed = graph::agree_layouts(net, costs(0, num_asked), costs(0.5, num_rough));
    REQUIRE((exact && mixed));
    REQUIRE(exact->windows.size() == mixed->windows.size());
    double whole = 0;
    for (const graph::WindowLayouts& window : exact->windows) {
      whole += std::min(window.given_ns, window.last_ns);
    }
    for (std::size_t w = 0; w < exact->windows.size(); ++w) {
      const graph::WindowLayouts &is = exact->windows[w], &found = mixed->windows[w];
      const bool is_exact = found.given_ns == is.given_ns && found.last_ns == is.last_ns;
      num_different += is_exact ? 0 : 1;
      // Where the wrong order would be chosen, next to nothing is lost.
      const bool is_wrong = (is.given_ns < is.last_ns) != (found.given_ns < found.last_ns);
      const double least = std::min(is.given_ns, is.last_ns);
      CHECK((is_exact || !is_wrong || least < 1.5 * whole / 32));
    }
  }
  CHECK(num_asked < num_rough);
  CHECK(num_different > 0);
}

TEST_CASE("every window can be asked to have channels last", "[graph]") {
  graph::Builder net;
  auto x = net.input("x", {1, 3, 8, 8});
  x = net.add("Relu", {net.add("Conv", {x, net.weights({4, 3, 3, 3})})});
  x = net.add("Relu", {net.add("Reshape", {x, net.integers({1, 4, 36, 1})})});
  net.output("y", net.add("MaxPool", {x}, {{"kernel_shape", List{2, 1}}}));
  const graph::Graph made = net.finish();
  const auto all = graph::all_channels_last(made);
  REQUIRE(all.has_value());
  CHECK(all->windows.size() == 2);
  CHECK(all->num_last == 2);
}

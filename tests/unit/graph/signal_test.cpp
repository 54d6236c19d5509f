// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <numbers>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/support/error.hpp"

using namespace tensorsmith;
using graph::List;

namespace {

using Complex = std::complex<double>;

HostArray samples(std::vector<std::int64_t> shape) {
  HostArray x(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    x.set_real(i, 0.25 * static_cast<double>((i * 31) % 17) - 2);
  }
  return x;
}

HostArray result_of(graph::Graph net, const HostArray& x) {
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  const auto results = graph::interpret(net, {x});
  REQUIRE(results.has_value());
  return (*results)[0];
}

/// The sum itself, of `length` samples of which those behind the end are 0.
Complex transformed(const std::vector<Complex>& signal, std::int64_t length, std::int64_t k,
                    bool is_inverse) {
  Complex sum = 0;
  for (std::int64_t t = 0; t < std::min<std::int64_t>(length, std::ssize(signal)); ++t) {
    const double turn =
        2 * std::numbers::pi * static_cast<double>(t * k) / static_cast<double>(length);
    sum += signal[static_cast<std::size_t>(t)] * std::polar(1.0, is_inverse ? turn : -turn);
  }
  return is_inverse ? sum / static_cast<double>(length) : sum;
}

/// DFT of axis 1 of [2, 6, 3, parts].
void check_dft(std::int64_t parts, std::int64_t length, bool is_one_sided, bool is_inverse) {
  graph::Builder net("dft");
  const auto x = net.input("x", {2, 6, 3, parts});
  net.output("y", net.add("DFT", {x, net.integers({length}), net.integers({1})},
                          {{"onesided", std::int64_t{is_one_sided}},
                           {"inverse", std::int64_t{is_inverse}}}));
  const HostArray in = samples({2, 6, 3, parts}), out = result_of(net.finish(), in);
  const std::int64_t bins = is_one_sided ? length / 2 + 1 : length;
  REQUIRE(out.shape == graph::Shape{2, bins, 3, 2});
  for (std::int64_t row = 0; row < 6; ++row) {
    const std::int64_t a = row / 3, b = row % 3;
    std::vector<Complex> signal;
    for (std::int64_t t = 0; t < 6; ++t) {
      const std::int64_t at = ((a * 6 + t) * 3 + b) * parts;
      signal.emplace_back(in.get_real(at), parts == 2 ? in.get_real(at + 1) : 0);
    }
    for (std::int64_t k = 0; k < bins; ++k) {
      const std::int64_t at = ((a * bins + k) * 3 + b) * 2;
      const Complex got(out.get_real(at), out.get_real(at + 1));
      CHECK(std::abs(got - transformed(signal, length, k, is_inverse)) < 1e-5);
    }
  }
}

std::vector<double> window(const char* op, std::int64_t size, std::int64_t is_periodic) {
  graph::Graph net;
  graph::Node node;
  node.op = op;
  node.attributes = {{"periodic", is_periodic}};
  node.inputs = {net.add_constant("", graph::integer_constant({size}))};
  graph::Value named;
  named.name = "y";
  node.outputs = {net.add_value(named)};
  net.nodes = {node};
  net.outputs = node.outputs;
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  return net.value(net.outputs[0]).constant.reals();
}

}  // namespace

TEST_CASE("a discrete Fourier transform is the sum that it is defined as", "[graph]") {
  check_dft(1, 6, false, false);
  check_dft(1, 6, true, false);
  check_dft(1, 9, true, false);  // filled up
  check_dft(1, 4, true, false);  // cut
  check_dft(2, 6, false, false);
  check_dft(2, 6, false, true);
}

TEST_CASE("a short-time transform is that of its frames under the window", "[graph]") {
  for (const bool has_parts_axis : {false, true}) {
    graph::Builder net("stft");
    const List shape = has_parts_axis ? List{2, 20, 1} : List{2, 20};
    const auto x = net.input("x", shape);
    std::vector<float> taper = {0.25F, 1, 0.5F, 2, 0.75F, 1, 0.125F};
    net.output("y", net.add("STFT", {x, net.integers({3}), net.constant({7}, taper)}));
    const HostArray in = samples(shape), out = result_of(net.finish(), in);
    REQUIRE(out.shape == graph::Shape{2, 5, 4, 2});
    for (std::int64_t i = 0; i < out.num_elements(); i += 2) {
      const std::int64_t k = i / 2 % 4, frame = i / 8 % 5, row = i / 40;
      std::vector<Complex> signal;
      for (std::int64_t t = 0; t < 7; ++t) {
        signal.emplace_back(in.get_real(row * 20 + frame * 3 + t) *
                            taper[static_cast<std::size_t>(t)]);
      }
      const Complex got(out.get_real(i), out.get_real(i + 1));
      CHECK(std::abs(got - transformed(signal, 7, k, false)) < 1e-5);
    }
  }
}

TEST_CASE("windows are made of their size alone", "[graph]") {
  CHECK(window("HannWindow", 4, 1) == std::vector<double>{0, 0.5, 1, 0.5});
  CHECK(window("HannWindow", 3, 0) == std::vector<double>{0, 1, 0});
  CHECK(window("HammingWindow", 2, 1)[1] == 1);
  const std::vector<double> blackman = window("BlackmanWindow", 4, 1);
  CHECK(std::abs(blackman[0]) < 1e-7);
  CHECK(std::abs(blackman[1] - 0.34) < 1e-7);
  CHECK(std::abs(blackman[2] - 1) < 1e-7);
}

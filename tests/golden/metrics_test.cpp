// SPDX-License-Identifier: Apache-2.0
// requires: json
// Metrics of scores: the reference's numbers.
#include "tensorsmith/cost/model_metrics.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_data.hpp"

namespace tensorsmith::test {

TEST_CASE("metrics of the reference", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("metrics.json")) {
    ComparedRows lists(file.name);
    lists.of("metrics of lists");
    for (const Json& one : Json::parse(read_text(file.path))) {
      const auto scores = one.at("preds").get<std::vector<float>>();
      const auto labels = one.at("labels").get<std::vector<float>>();
      INFO(scores.size() << " programs");
      const ScoredTask task{1, 1, scores, labels};
      const MetricsReport report = metrics_report({&task, 1});
      CHECK(report.rmse == Approx(one.at("rmse").get<double>()).epsilon(1e-6));
      CHECK(report.r_squared == Approx(one.at("r_squared").get<double>()).epsilon(1e-5));
      CHECK(report.mean_relative_error == Approx(one.at("mape").get<double>()).epsilon(1e-5));
      CHECK(report.pair_accuracy == Approx(one.at("pairwise").get<double>()));
      for (const auto& [name, value] : one.items()) {
        const std::size_t at = name.find('@');
        if (at == std::string::npos) {
          continue;
        }
        INFO(name);
        const std::size_t k = std::stoul(name.substr(at + 1));
        const double ours = name.starts_with("recall") ? top_recall(scores, labels, k)
                                                       : peak_score(scores, labels, k);
        CHECK(ours == Approx(value.get<double>()).epsilon(1e-6));
        ++lists;
      }
    }
  }
}

}  // namespace tensorsmith::test

// SPDX-License-Identifier: Apache-2.0
// requires: mlp
// Damaged cost models. A checksum keeps most damage out, so half of them get a new frame: then the
// payload itself is wrong. A model that was refused still scores as before.
#include "tensorsmith/cost/mlp.hpp"

#include "support/catch.hpp"
#include "support/text_mutator.hpp"
#include "tensorsmith/cost/model_bytes.hpp"
#include "unit/cost/cost_fixtures.hpp"

namespace tensorsmith::test {

TEST_CASE("the reader of cost models takes damage", "[fuzz]") {
  MlpModel model(MlpOptions{.num_hidden = 8, .steps_per_update = 4});
  model.update(synthetic_samples(1, 0, 32));
  const std::vector<Features> programs = features_of(synthetic_samples(1, 100, 4));
  const std::vector<float> scores = scores_of(model, programs);
  const FeatureSchema schema{ansor_schema()};
  const auto bytes = model.save();
  REQUIRE(bytes.has_value());
  const auto payload = unframe_model(*bytes, model.name(), MlpModel::schema_version, schema);
  REQUIRE(payload.has_value());
  const std::string inner(*payload);

  TextMutator mutator(seed(), {std::string(8, '\0'), std::string(4, '\xff'), "TSMODEL\n",
                               std::string("\0\0\xc0\x7f", 4)});
  std::size_t refused = 0;
  const std::size_t rounds = fuzz(1000, [&] {
    const bool is_framed_anew = mutator.below(2) == 0;
    const std::string damaged = is_framed_anew ? frame_model(model.name(), MlpModel::schema_version,
                                                             mutator.mutate(inner, inner), schema)
                                               : mutator.mutate(*bytes, *bytes);
    MlpModel other;
    if (!other.load(damaged)) {
      ++refused;
      return;
    }
    REQUIRE(scores_of(other, programs).size() == scores.size());
  });
  CHECK(refused > 0);
  CHECK(refused < rounds);
  CHECK(scores_of(model, programs) == scores);
}

}  // namespace tensorsmith::test

// SPDX-License-Identifier: Apache-2.0
// RandomModel: uniform scores that are a pure function of (seed, number of updates, program).
//
// Floor 6. Ansor reference, ch. 7 (RandomModel), made deterministic: the baseline of every search,
// and the model before any measurement. Unlike the reference's it rejects programs without
// features.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

/// Uniform in [0, 1); equal programs get equal scores, another round gets another order.
inline float random_score(std::uint64_t seed, std::uint32_t round, const Features& program) {
  const std::uint64_t h = hash_features(program);
  CounterRng rng(seed, static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(h >> 32), round);
  return static_cast<float>(rng.next_u32() >> 8) * 0x1.0p-24F;
}

class RandomModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit RandomModel(std::uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "random"; }

  /// Learns nothing; the next round draws anew.
  void update(std::span<const TrainingSample>) override { ++round_; }

  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty() ? invalid_score : random_score(seed_, round_, programs[i]);
    }
  }

  Result<std::string, CostModelFault> save() const override {
    ByteWriter payload;
    payload.u64(seed_);
    payload.u32(round_);
    return frame_model(name(), schema_version, payload.take());
  }

  Result<Done, CostModelFault> load(std::string_view bytes) override {
    const Result<std::string_view, CostModelFault> payload =
        unframe_model(bytes, name(), schema_version);
    if (!payload) {
      return fail(payload.error());
    }
    ByteReader in(*payload);
    const std::uint64_t seed = in.u64();
    const std::uint32_t round = in.u32();
    if (!in.ok() || !in.rest().empty()) {
      return refuse(CostModelError::bad_payload);
    }
    seed_ = seed;
    round_ = round;
    return Done{};
  }

 private:
  std::uint64_t seed_;
  std::uint32_t round_ = 0;
};

/// The row of the table of models.
inline ModelFactory random_model_factory() {
  return {"random", "chance: a search without a model", true, [](const ModelContext& context) {
            return Shared<CostModel>(make_shared_of<RandomModel>(context.seed));
          }};
}

}  // namespace tensorsmith

// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/psa.hpp"

#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace tensorsmith {
namespace {

using test::Approx;

PsaRow product_row(double num_blocks, double num_threads) {
  PsaRow row;
  row.total_ops = 1e9;
  row.register_words = 24;
  row.reuse = 5;
  row.num_blocks = num_blocks;
  row.num_threads = num_threads;
  return row;
}

Features program_of(const PsaRow& row) {
  FeatureBlock block{psa_schema(), 0, {}};
  write_psa_row(block.add_row(), row);
  return Features(std::vector<FeatureBlock>{block});
}

}  // namespace

TEST_CASE("PSA: small grids fill parts of multiprocessors", "[cost]") {
  const PsaDevice a100 = *psa_device("a100_40");
  CHECK(psa_penalties(product_row(64, 128), a100).wave == Approx(0.592593).epsilon(1e-5));
  CHECK(psa_row_ms(product_row(64, 128), a100) == Approx(0.103899).epsilon(1e-5));
  CHECK(psa_penalties(product_row(64, 64), a100).wave == Approx(0.296296).epsilon(1e-5));
  CHECK(psa_row_ms(product_row(64, 64), a100) == Approx(0.207797).epsilon(1e-5));
  CHECK(psa_penalties(product_row(108, 64), a100).wave == Approx(1));
  CHECK(psa_row_ms(product_row(108, 64), a100) == Approx(0.061570).epsilon(1e-5));
}

TEST_CASE("PSA: any board is a device, a class of boards is none", "[cost]") {
  const PsaDevice board = *psa_device(*Target::from_name("a100"));
  const PsaDevice known = *psa_device("a100_40");
  CHECK(board.peak_gflops == Approx(known.peak_gflops).epsilon(1e-3));
  CHECK(board.dram_gb_per_s == Approx(known.dram_gb_per_s));
  CHECK(board.num_sms == known.num_sms);
  CHECK(!psa_device(*Target::from_name("sm_80")));
  CHECK(!psa_device(Target::x86_64_v3()));
  CHECK(!psa_device("a200"));
}

TEST_CASE("PSA as a cost model: faster first, nothing for no program", "[cost]") {
  PsaModel model(*psa_device("a100_40"));
  const std::vector<Features> programs{program_of(product_row(64, 64)),
                                       program_of(product_row(64, 128)), Features()};
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  CHECK(scores[1] > scores[0]);
  CHECK(scores[2] == invalid_score);
  PsaModel other(*psa_device("k80"));
  REQUIRE(other.load(model.save().value()));
  CHECK(other.device().peak_gflops == 19490);
  std::vector<float> again(programs.size());
  other.predict(programs, again);
  CHECK(again == scores);
  CHECK(other.load("nothing").error() == CostModelError::not_a_model);
}

}  // namespace tensorsmith

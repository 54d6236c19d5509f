// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/policy_params.hpp"

#include "support/catch.hpp"

namespace tensorsmith {

TEST_CASE("the reference's names and default values (Ansor reference, ch. 4.1)") {
  const PolicyParams params;
  CHECK(params.eps_greedy == 0.05);
  CHECK(params.retry_search_one_round_on_empty == 1);
  CHECK(params.sample_init_min_population == 50);
  CHECK(params.sample_init_use_measured_ratio == 0.2);
  CHECK(params.evolutionary_search_population == 2048);
  CHECK(params.evolutionary_search_num_iters == 4);
  CHECK(params.evolutionary_search_mutation_prob == 0.85);
  CHECK(params.cpu_multi_level_tiling_structure == "SSRSRS");
  CHECK(params.gpu_multi_level_tiling_structure == "SSSRRSRS");
  CHECK(params.max_innermost_split_factor == 64);
  CHECK(params.max_vectorize_size == 16);
  CHECK(params.disable_change_compute_location == 0);
}

TEST_CASE("every name can be set") {
  PolicyParams params;
  for (const PolicyParamInfo& info : PolicyParams::all()) {
    const std::string_view name = info.name;
    const bool is_structure = name.find("structure") != std::string_view::npos;
    INFO(std::string(name));
    CHECK(params.set(name, is_structure ? "SRS" : "1").empty());
  }
  CHECK(params.set("eps_greedy", "0.25").empty());
  CHECK(params.eps_greedy == 0.25);
  CHECK(params.set("evolutionary_search_population", "512").empty());
  CHECK(params.evolutionary_search_population == 512);
  CHECK(params.cpu_multi_level_tiling_structure == "SRS");
}

TEST_CASE("the list says of every parameter what it is by default and means") {
  REQUIRE(PolicyParams::all().size() == 15);
  for (const PolicyParamInfo& info : PolicyParams::all()) {
    INFO(std::string(info.name));
    CHECK_FALSE(info.meaning.empty());
    std::string value(info.default_value);
    std::erase(value, '"');
    PolicyParams params;
    CHECK(params.set(info.name, value).empty());  // the default is a legal value
  }
}

TEST_CASE("what is no value is refused with what is expected") {
  PolicyParams params;
  for (const char* bad : {"", "-1", "2", "1e3", "0.5.5", "x"}) {
    INFO(bad);
    CHECK(params.set("eps_greedy", bad).find("expected a number in 0..1, got \"") !=
          std::string::npos);
  }
  CHECK(params.set("max_vectorize_size", "1.5").find("expected a whole number in 1..") !=
        std::string::npos);
  CHECK(params.set("max_vectorize_size", "99999999999999999999").find("expected") !=
        std::string::npos);
  CHECK(params.set("cpu_multi_level_tiling_structure", "SSS").find("at least one of each") !=
        std::string::npos);
  CHECK(params.set("eps_gredy", "0").find("known: eps_greedy, retry") != std::string::npos);
}

}  // namespace tensorsmith

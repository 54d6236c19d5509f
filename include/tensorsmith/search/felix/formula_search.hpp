// SPDX-License-Identifier: Apache-2.0
// FormulaSearch: the part of a round of Felix that formulas lead: from programs to seeds, and from
// where these went to the programs that are worth a look.
//
// Floor 7. Felix, ch. 6.2 to 6.5. Formulas are made once per form and kept for the task. Of a
// sketch half of the seeds are programs, the best first, and half are drawn in the polytopes of
// their forms. Not here: forms that formulas cannot follow (felix_policy.hpp).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/felix/formula_descent.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// Formulas by form.
class FormulaCache {
 public:
  /// Null: formulas cannot follow it, or say something else of a typical program of the form than
  /// its features do. `build(steps)` makes a program, or nothing; `extract(view)` its features.
  template <class Build, class Extract>
  const TileFormulas* find(const SearchSpace& space, const TilePoint& tiles, const Build& build,
                           const Extract& extract) {
    std::vector<Step> form = tiles.form();
    for (const Known& known : known_) {
      if (known.sketch == tiles.sketch() && known.form == form) {
        return known.formulas.get();
      }
    }
    Shared<const TileFormulas> found;
    if (const std::optional<Candidate> typical = build(tiles.typical())) {
      std::optional<TileFormulas> made = TileFormulas::of(space, tiles, typical->state);
      if (made && agree(*made, tiles, extract(ProgramView(typical->state)))) {
        found = make_shared_of<const TileFormulas>(std::move(*made));
      }
    }
    known_.push_back({tiles.sketch(), std::move(form), std::move(found)});
    return known_.back().formulas.get();
  }
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::uint32_t sketch;
    std::vector<Step> form;
    Shared<const TileFormulas> formulas;
  };

  /// In nearly all columns: what is written in another layout, say, is read along other lines.
  static bool agree(const TileFormulas& formulas, const TilePoint& tiles,
                    const Features& features) {
    constexpr double least_share = 0.95, tolerance = 1e-3;
    const FeatureBlock* block = features.find(felix_block_name);
    if (block == nullptr || block->num_rows != formulas.num_rows()) {
      return false;
    }
    std::vector<double> point, values;
    for (const std::int64_t value : tiles.values_of(tiles.typical())) {
      point.push_back(math::log2(static_cast<double>(value)));
    }
    TileFormulas::Workspace space;
    (void)formulas.exact(point, 1, space, values);
    std::size_t num_equal = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = double{block->values[i]};
      num_equal += math::fabs(values[i] - exact) <= tolerance * (1 + math::fabs(exact)) ? 1 : 0;
    }
    return static_cast<double>(num_equal) >= least_share * static_cast<double>(values.size());
  }

  std::vector<Known> known_;
};

class FormulaSearch {
 public:
  FormulaSearch(const CostModel& model, const SearchCallbacks& callbacks, FormulaOptions options)
      : model_(model), callbacks_(callbacks), options_(options) {}

  /// A program to begin at; better ones are given first. `formulas` must stay.
  void add(TilePoint tiles, const TileFormulas* formulas) {
    for (Form& form : forms_) {
      if (form.formulas == formulas) {
        form.starts.push_back(tiles.start());
        return;
      }
    }
    std::vector<std::vector<double>> starts{tiles.start()};
    forms_.push_back({std::move(tiles), formulas, std::move(starts)});
  }
  bool is_empty() const { return forms_.empty(); }

  /// Draws further points in the forms of those that were added, as many as are in them.
  void draw(CounterRng rng) {
    for (Form& form : forms_) {
      for (std::vector<double>& point : form.formulas->inside().draw(form.starts.size(), rng)) {
        form.starts.push_back(std::move(point));
      }
    }
  }

  /// Histories of the best programs that each point passed, best by the exact formulas first.
  std::vector<std::vector<Step>> run(std::uint32_t round) {
    constexpr std::size_t at_once = 16;  // points of a batch
    struct Job {
      std::size_t form, first;
    };
    std::vector<Job> jobs;
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      for (std::size_t first = 0; first < forms_[f].starts.size(); first += at_once) {
        jobs.push_back({f, first});
      }
    }
    const std::uint32_t steps = options_.descent.steps_of_round(round);
    std::vector<std::vector<RoundedValues>> found(jobs.size());
    run_for(callbacks_.parallel_for, jobs.size(), [&](std::size_t j) {
      const Form& form = forms_[jobs[j].form];
      const std::size_t size = form.formulas->size(),
                        batch = smaller_of(at_once, form.starts.size() - jobs[j].first);
      std::vector<double> points(size * batch);
      for (std::size_t p = 0; p < batch; ++p) {
        for (std::size_t c = 0; c < size; ++c) {
          points[c * batch + p] = form.starts[jobs[j].first + p][c];
        }
      }
      found[j] = descend_by_formulas(*form.formulas, model_, form.tiles, options_, steps,
                                     std::move(points), [&] { return callbacks_.late(); });
    });
    struct Ranked {
      float score;
      std::size_t job, at;
    };
    std::vector<Ranked> ranked;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (std::size_t i = 0; i < found[j].size(); ++i) {
        ranked.push_back({found[j][i].score, j, i});
      }
    }
    sort_items(ranked, [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    std::vector<std::vector<Step>> best;
    std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> taken;
    for (const Ranked& one : ranked) {
      std::pair key(jobs[one.job].form, found[one.job][one.at].values);
      if (!has_item(taken, key)) {
        best.push_back(forms_[key.first].tiles.with_values(key.second));
        taken.push_back(std::move(key));
      }
    }
    return best;
  }

 private:
  struct Form {
    TilePoint tiles;
    const TileFormulas* formulas;
    std::vector<std::vector<double>> starts;
  };

  const CostModel& model_;
  const SearchCallbacks& callbacks_;
  FormulaOptions options_;
  std::vector<Form> forms_;
};

}  // namespace tensorsmith

// SPDX-License-Identifier: Apache-2.0
// Choosing among records: keys taken apart, targets taken apart, tables of the best.
#include "tensorsmith/record/ansor_history.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "tensorsmith/sched/step_json.hpp"

namespace tensorsmith {
namespace ansor_key {
namespace {

constexpr int deepest = 64;

/// Reads the flat list of a JSON array. Anything else than an array is no key.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool read(DecodedKey& key) {
    std::vector<WorkloadArgument> all;
    if (!list(all, 0) || (skip(), at_ != text_.size()) || all.empty() || all[0].is_integer) {
      return false;
    }
    key.name = std::move(all[0].text);
    all.erase(all.begin());
    key.args = std::move(all);
    return true;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool take(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  bool list(std::vector<WorkloadArgument>& all, int depth) {
    if (depth > deepest || !take('[')) {
      return false;
    }
    if (take(']')) {
      return true;
    }
    do {
      if (!value(all, depth)) {
        return false;
      }
    } while (take(','));
    return take(']');
  }
  bool value(std::vector<WorkloadArgument>& all, int depth) {
    skip();
    if (at_ >= text_.size()) {
      return false;
    }
    if (text_[at_] == '[') {
      return list(all, depth + 1);
    }
    WorkloadArgument argument;
    const std::size_t from = at_;
    if (text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        at_ += text_[at_] == '\\' ? 1 : 0;
      }
      if (at_ >= text_.size()) {
        return false;
      }
      argument.text = std::string(text_.substr(from + 1, at_++ - from - 1));
    } else {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != ' ') {
        ++at_;
      }
      argument.text = std::string(text_.substr(from, at_ - from));
      const char* end = argument.text.data() + argument.text.size();
      const auto [rest, error] = std::from_chars(argument.text.data(), end, argument.value);
      argument.is_integer = error == std::errc() && rest == end;
      if (argument.text.empty()) {
        return false;
      }
      if (argument.is_integer) {
        argument.text.clear();
      }
      argument.is_quoted = false;
    }
    all.push_back(std::move(argument));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void add_new(std::vector<std::string>& list, std::string_view item) {
  if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end()) {
    list.emplace_back(item);
  }
}
void add_list(std::vector<std::string>& list, std::string_view items) {
  while (!items.empty()) {
    const std::size_t comma = items.find(',');
    add_new(list, items.substr(0, comma));
    items.remove_prefix(comma == std::string_view::npos ? items.size() : comma + 1);
  }
}
std::string_view keys_of_kind(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"llvm", "cpu"},         {"c", "cpu"},
      {"cuda", "cuda,gpu"},    {"nvptx", "cuda,gpu"},
      {"rocm", "rocm,gpu"},    {"opencl", "opencl,gpu"},
      {"metal", "metal,gpu"},  {"vulkan", "vulkan,gpu"},
      {"webgpu", "webgpu,gpu"}};
  for (const auto& [name, keys] : known) {
    if (name == kind) {
      return keys;
    }
  }
  return {};
}

/// Names a key in tables: the same for keys that differ in spaces only.
std::string canonical(const DecodedKey& key) {
  std::string text = key.name;
  for (const WorkloadArgument& argument : key.args) {
    text += '\x1f';
    text += argument.is_integer ? 'i' : argument.is_quoted ? 't' : 'w';
    text += argument.is_integer ? std::to_string(argument.value) : argument.text;
  }
  return text;
}

}  // namespace
}  // namespace ansor_key

DecodedKey decode_workload_key(std::string_view key) {
  DecodedKey decoded;
  if (!ansor_key::Reader(key).read(decoded)) {
    decoded = {std::string(key), {}};
  }
  return decoded;
}

double workload_distance(const DecodedKey& wanted, const DecodedKey& recorded) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (wanted.name != recorded.name || wanted.args.size() != recorded.args.size()) {
    return never;
  }
  double distance = 1;
  for (std::size_t i = 0; i < wanted.args.size(); ++i) {
    const WorkloadArgument &w = wanted.args[i], &r = recorded.args[i];
    if (w == r) {
      continue;
    }
    if (!w.is_integer || !r.is_integer || w.value <= 0 || r.value <= 0 || w.value % r.value != 0) {
      return never;
    }
    distance *= static_cast<double>(w.value) / static_cast<double>(r.value);
  }
  return distance;
}

AnsorTarget parse_ansor_target(std::string_view target) {
  AnsorTarget result;
  std::string_view device;
  for (bool is_first = true; !target.empty(); is_first = false) {
    const std::size_t end = target.find(' ');
    const std::string_view word = target.substr(0, end);
    target.remove_prefix(end == std::string_view::npos ? target.size() : end + 1);
    if (is_first) {
      result.kind = std::string(word);
    } else if (word.starts_with("-keys=")) {
      ansor_key::add_list(result.keys, word.substr(6));
    } else if (word.starts_with("-device=")) {
      device = word.substr(8);
    } else if (word.starts_with("-model=")) {
      result.model = std::string(word.substr(7));
    }
  }
  ansor_key::add_new(result.keys, device);
  ansor_key::add_list(result.keys, ansor_key::keys_of_kind(result.kind));
  return result;
}

const AnsorRecord* best_ansor_record(const std::vector<AnsorRecord>& records, std::string_view key,
                                     std::string_view target, bool takes_compatible) {
  const DecodedKey wanted = decode_workload_key(key);
  const std::string kind = parse_ansor_target(target).kind;
  const AnsorRecord* best = nullptr;
  double least = 1e30;
  std::string_view last_key;
  double distance = std::numeric_limits<double>::infinity();
  for (const AnsorRecord& record : records) {
    if (!record.is_measured() ||
        (!kind.empty() && record.target.substr(0, record.target.find(' ')) != kind)) {
      continue;
    }
    if (record.workload_key != last_key) {  // logs hold long runs of one key
      distance = workload_distance(wanted, decode_workload_key(record.workload_key));
      last_key = record.workload_key;
    }
    if (distance == std::numeric_limits<double>::infinity() ||
        (distance != 1 && !takes_compatible)) {
      continue;
    }
    const double cost = record.mean_cost() * distance;
    if (cost < least) {
      least = cost;
      best = &record;
    }
  }
  return best;
}

AnsorHistory::AnsorHistory(const std::vector<AnsorRecord>& records) {
  for (const AnsorRecord& record : records) {
    add(record);
  }
}

AnsorHistory::Table& AnsorHistory::table(std::vector<Table>& tables,
                                         HashMap<std::string, std::uint32_t>& index,
                                         const std::string& name) {
  if (const std::uint32_t* known = index.find(name)) {
    return tables[*known];
  }
  index.set(name, static_cast<std::uint32_t>(tables.size()));
  return tables.emplace_back();
}

void AnsorHistory::put(Table& table, const AnsorRecord& record, bool always) {
  DecodedKey key = decode_workload_key(record.workload_key);
  const std::string name = ansor_key::canonical(key);
  if (const std::uint32_t* known = table.by_key.find(name)) {
    Entry& entry = table.entries[*known];
    if (always || record.mean_cost() < entry.record->mean_cost()) {
      entry.record = &record;
    }
    return;
  }
  const auto position = static_cast<std::uint32_t>(table.entries.size());
  table.by_key.set(name, position);
  const std::uint32_t* known_name = table.by_name.find(key.name);
  const auto group =
      known_name != nullptr ? *known_name : static_cast<std::uint32_t>(table.same_name.size());
  if (known_name == nullptr) {
    table.by_name.set(key.name, group);
    table.same_name.emplace_back();
  }
  table.same_name[group].push_back(position);
  table.entries.push_back({std::move(key), &record});
}

void AnsorHistory::add(const AnsorRecord& record) {
  if (!record.is_measured()) {
    return;
  }
  const AnsorTarget target = parse_ansor_target(record.target);
  for (const std::string& key : target.keys) {
    put(table(measured_, measured_index_, "k:" + key), record, false);
  }
  if (target.model != "unknown") {
    put(table(measured_, measured_index_, "m:" + target.model), record, false);
  }
}

void AnsorHistory::choose(const AnsorRecord& record) {
  const AnsorTarget target = parse_ansor_target(record.target);
  for (const std::string& key : target.keys) {
    put(table(chosen_, chosen_index_, "k:" + key), record, true);
  }
  put(table(chosen_, chosen_index_, "m:" + target.model), record, true);
}

const AnsorRecord* AnsorHistory::find_in(const Table* table, const DecodedKey& key,
                                         bool takes_compatible) {
  if (table == nullptr) {
    return nullptr;
  }
  if (const std::uint32_t* exact = table->by_key.find(ansor_key::canonical(key))) {
    return table->entries[*exact].record;
  }
  const std::uint32_t* group = takes_compatible ? table->by_name.find(key.name) : nullptr;
  if (group == nullptr) {
    return nullptr;
  }
  const AnsorRecord* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t position : table->same_name[*group]) {
    const Entry& entry = table->entries[position];
    const double cost = workload_distance(key, entry.key) * entry.record->mean_cost();
    if (cost < least) {
      least = cost;
      best = entry.record;
    }
  }
  return best;
}

const AnsorRecord* AnsorHistory::find(std::string_view key, std::string_view target,
                                      bool takes_compatible) const {
  const DecodedKey wanted = decode_workload_key(key);
  const AnsorTarget parts = parse_ansor_target(target);
  std::vector<std::string> names = {"m:" + parts.model};
  for (const std::string& name : parts.keys) {
    names.push_back("k:" + name);
  }
  for (const std::string& name : names) {
    const std::uint32_t* chosen = chosen_index_.find(name);
    const std::uint32_t* measured = measured_index_.find(name);
    for (const Table* table : {chosen != nullptr ? &chosen_[*chosen] : nullptr,
                               measured != nullptr ? &measured_[*measured] : nullptr}) {
      if (const AnsorRecord* record = find_in(table, wanted, takes_compatible)) {
        return record;
      }
    }
  }
  return nullptr;
}

std::vector<const AnsorRecord*> AnsorHistory::best() const {
  std::vector<const AnsorRecord*> records;
  for (const std::vector<Table>* tables : {&chosen_, &measured_}) {
    for (const Table& table : *tables) {
      for (const Entry& entry : table.entries) {
        if (std::find(records.begin(), records.end(), entry.record) == records.end()) {
          records.push_back(entry.record);
        }
      }
    }
  }
  return records;
}

std::vector<AnsorRecord> distil(const std::vector<AnsorRecord>& records) {
  std::vector<const AnsorRecord*> best = AnsorHistory(records).best();
  std::sort(best.begin(), best.end());  // they lie in one vector, in the order of the input
  std::vector<AnsorRecord> kept;
  for (const AnsorRecord* record : best) {
    kept.push_back(*record);
  }
  return kept;
}

std::string task_name(const AnsorRecord& record) {
  return record.workload_key + '\n' + record.target + '\n' +
         (record.hardware ? std::to_string((*record.hardware)[0]) : std::string());
}

std::vector<std::size_t> merged_positions(const std::vector<AnsorRecord>& records) {
  HashMap<std::string, std::uint32_t> known;
  std::vector<std::size_t> merged;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const AnsorRecord& record = records[i];
    const std::string program = task_name(record) + '\n' + steps_json(record.steps);
    const std::uint32_t* place = known.find(program);
    if (place == nullptr) {
      known.set(program, static_cast<std::uint32_t>(merged.size()));
      merged.push_back(i);
    } else if (const AnsorRecord& old = records[merged[*place]];
               record.is_measured() &&
               (!old.is_measured() || record.mean_cost() < old.mean_cost())) {
      merged[*place] = i;
    }
  }
  return merged;
}

std::vector<AnsorRecord> merge_logs(const std::vector<std::vector<AnsorRecord>>& logs) {
  std::vector<AnsorRecord> all;
  for (const std::vector<AnsorRecord>& log : logs) {
    all.insert(all.end(), log.begin(), log.end());
  }
  std::vector<AnsorRecord> merged;
  for (const std::size_t position : merged_positions(all)) {
    merged.push_back(all[position]);
  }
  return merged;
}

std::vector<std::size_t> top_positions(const std::vector<AnsorRecord>& records, std::size_t count) {
  HashMap<std::string, std::uint32_t> known;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i].is_measured()) {
      continue;
    }
    const std::string name = task_name(records[i]);
    const std::uint32_t* place = known.find(name);
    const auto at = place != nullptr ? *place : static_cast<std::uint32_t>(groups.size());
    if (place == nullptr) {
      known.set(name, at);
      groups.emplace_back();
    }
    groups[at].push_back(i);
  }
  std::vector<std::size_t> top;
  for (std::vector<std::size_t>& group : groups) {
    std::stable_sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
      return records[a].mean_cost() < records[b].mean_cost();
    });
    group.resize(std::min(group.size(), count));
    top.insert(top.end(), group.begin(), group.end());
  }
  return top;
}

std::vector<AnsorRecord> top_records(const std::vector<AnsorRecord>& records, std::size_t count) {
  std::vector<AnsorRecord> top;
  for (const std::size_t position : top_positions(records, count)) {
    top.push_back(records[position]);
  }
  return top;
}

}  // namespace tensorsmith

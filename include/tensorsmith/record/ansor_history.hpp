// SPDX-License-Identifier: Apache-2.0
// Which record of the Ansor reference's logs serves a workload and a target best.
//
// Floor 6; compiled in lib/record. Ansor reference, ch. 3.5: the same matching rules (keys and
// model of a target, never its text; records of smaller workloads that divide the wanted one, if
// asked for), so that a log chooses here what it chose there. Not here: files (ansor_log.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {

/// An argument of a workload key: an integer, or what must be equal: text ("float32"), or another
/// word of JSON, such as a flag (true), null or a real number.
struct WorkloadArgument {
  bool is_integer = false;
  std::int64_t value = 0;
  std::string text;
  bool is_quoted = true;  ///< text, not another word
  bool operator==(const WorkloadArgument&) const = default;
};

/// `["name", 1, [2, 3], "x"]` as a name and a flat list. Text that is no such list is all name.
struct DecodedKey {
  std::string name;
  std::vector<WorkloadArgument> args;
};
DecodedKey decode_workload_key(std::string_view key);

/// By how much a record's cost grows when it serves `wanted`: the product of the quotients of the
/// integer arguments. Infinity if it cannot.
double workload_distance(const DecodedKey& wanted, const DecodedKey& recorded);

/// "llvm -keys=cpu -model=x" taken apart.
struct AnsorTarget {
  std::string kind;               ///< "llvm"
  std::string model = "unknown";  ///< of the option -model
  std::vector<std::string> keys;  ///< given ones, the device's, then the kind's own
};
AnsorTarget parse_ansor_target(std::string_view target);

/// The fastest successful record for a key; nullptr if there is none. Empty target: any, otherwise
/// the kinds must agree. `takes_compatible`: records of workloads that divide it count too, their
/// costs times the distance.
const AnsorRecord* best_ansor_record(const std::vector<AnsorRecord>& records, std::string_view key,
                                     std::string_view target = {}, bool takes_compatible = false);

/// The best record per workload of a log, ready to be asked. Keeps pointers: the records must stay.
class AnsorHistory {
 public:
  AnsorHistory() = default;
  explicit AnsorHistory(const std::vector<AnsorRecord>& records);

  /// A measured record: kept if it succeeded and is the fastest of its workload.
  void add(const AnsorRecord& record);
  /// A record that the user has chosen: stands before all measured ones, whatever its cost.
  void choose(const AnsorRecord& record);

  /// By the target's model, then by each of its keys; for each of them the chosen records, then the
  /// measured ones. nullptr: nothing is known. The time does not grow with the number of records.
  const AnsorRecord* find(std::string_view key, std::string_view target,
                          bool takes_compatible = false) const;

  /// The records that a search may return, in the order of their workloads' first appearance.
  std::vector<const AnsorRecord*> best() const;

 private:
  struct Entry {
    DecodedKey key;
    const AnsorRecord* record = nullptr;
  };
  /// Of one target key or model.
  struct Table {
    HashMap<std::string, std::uint32_t> by_key;   ///< position in entries
    HashMap<std::string, std::uint32_t> by_name;  ///< position in same_name
    std::vector<std::vector<std::uint32_t>> same_name;
    std::vector<Entry> entries;
  };
  static void put(Table& table, const AnsorRecord& record, bool always);
  static const AnsorRecord* find_in(const Table* table, const DecodedKey& key,
                                    bool takes_compatible);
  Table& table(std::vector<Table>& tables, HashMap<std::string, std::uint32_t>& index,
               const std::string& name);

  // Names of tables: "k:" and a target key, or "m:" and a model.
  HashMap<std::string, std::uint32_t> measured_index_, chosen_index_;
  std::vector<Table> measured_, chosen_;
};

/// One record per workload and target key, the fastest; in the order of the input.
std::vector<AnsorRecord> distil(const std::vector<AnsorRecord>& records);

/// Names what a record is of, and on what: its workload, the text of its target, and the number of
/// cores. Records of different tasks are never compared: neither times of two processors, nor of
/// one and two threads, nor a measurement and an estimate.
std::string task_name(const AnsorRecord& record);
/// Records of several logs, one after the other; of equal programs (task and steps) only the
/// fastest, at the place of the first. Failed ones only if none of them succeeded.
std::vector<AnsorRecord> merge_logs(const std::vector<std::vector<AnsorRecord>>& logs);
/// The same of one list, as positions.
std::vector<std::size_t> merged_positions(const std::vector<AnsorRecord>& records);
/// Positions of the `count` fastest successful records of every task, fastest first; tasks in the
/// order of their first appearance.
std::vector<std::size_t> top_positions(const std::vector<AnsorRecord>& records, std::size_t count);
/// These records.
std::vector<AnsorRecord> top_records(const std::vector<AnsorRecord>& records, std::size_t count);

}  // namespace tensorsmith

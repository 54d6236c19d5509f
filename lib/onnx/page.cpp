// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "onnx/operator_table.hpp"
#include "tensorsmith/graph/lowering.hpp"

namespace tensorsmith {
namespace {

/// "1 6 11 12 13"
std::string joined(const std::vector<std::int64_t>& versions) {
  std::string text;
  for (const std::int64_t version : versions) {
    text += (text.empty() ? "" : " ") + std::to_string(version);
  }
  return text;
}

std::string meaning(const OnnxOperator& one) {
  if (one.status == OnnxStatus::refused) {
    return "refused: " + std::string(one.reason);
  }
  if (one.status == OnnxStatus::rewritten) {
    return "becomes others";
  }
  const graph::OperatorFacts* facts = graph::find_operator(one.name);
  if (facts == nullptr) {
    return "read, not computed yet";
  }
  return one.status == OnnxStatus::folded && facts->is_folded ? "must turn out constant"
         : facts->is_view                                     ? "a view"
                                                              : "computed";
}

}  // namespace

std::string_view name_of(OnnxStatus status) {
  constexpr std::string_view names[] = {"node", "rewritten", "folded", "refused"};
  return names[static_cast<std::size_t>(status)];
}

std::vector<OnnxOperator> onnx_operators() {
  std::vector<OnnxOperator> operators;
  for (const onnx::OperatorRow& row : onnx::operator_rows()) {
    OnnxOperator one;
    one.domain = row.domain;
    one.name = row.name;
    one.versions = onnx::versions_of(row);
    one.status = row.status;
    one.reason = row.reason;
    operators.push_back(std::move(one));
  }
  return operators;
}

std::string onnx_operator_page() {
  std::string page =
      "# ONNX files\n"
      "\n"
      "<!-- Made of the table lib/onnx/operators.def; a test compares the two. To make it anew:\n"
      "     TENSORSMITH_WRITE_ONNX_PAGE=docs/onnx.md build/release/bin/unit_onnx \"[onnx_page]\" "
      "-->\n"
      "\n"
      "`read_onnx(path, options)` (`tensorsmith/onnx.hpp`) makes a `graph::Graph` of a model. It "
      "needs\n"
      "no library: neither ONNX nor Protocol Buffers.\n"
      "\n"
      "- Operator sets " +
      std::to_string(onnx::oldest_opset) + " to " + std::to_string(onnx::newest_opset) +
      ", IR versions 3 to 14. Every operator is brought into the form of its newest\n"
      "  version; functions of the model are expanded; an `If` is replaced by the branch that is "
      "taken\n"
      "  when its condition turns out to be constant; `Loop` and `Scan` are written out round by\n"
      "  round, up to 2,000, where their number turns out constant.\n"
      "- Extents with names are bound (`--dim batch=1`; `--dim x:0=1` for one without a name), "
      "inputs\n"
      "  that steer (`--input sr=16000`) as well. Names without a size are an error that lists "
      "them.\n"
      "- Elements: float, double, float16, bfloat16, int64, int32, int16, int8, uint8, bool; as "
      "raw\n"
      "  bytes, as lists, or in files of weights below the model's folder.\n"
      "- Weights are not copied. The file is mapped, and constants are views of it: raw bytes, "
      "packed\n"
      "  lists of float and double, files of weights. What the format stores as numbers of "
      "variable\n"
      "  length (lists of integers and of 16-bit floats) is written into a buffer.\n"
      "- Whatever is wrong is one sentence that names the file and the node.\n"
      "\n"
      "## Operators\n"
      "\n"
      "Versions are those that are told apart: each counts from the operator set of its number to "
      "the\nnext. *A view*: no kernel. *Must turn out constant*: shape arithmetic of exporters, "
      "which "
      "is gone\nonce extents are bound. *Becomes others*: one or several other operators, or "
      "none.\n"
      "\n"
      "| operator | versions | |\n"
      "|---|---|---|\n";
  for (const OnnxOperator& one : onnx_operators()) {
    page += "| " + (one.domain.empty() ? "" : std::string(one.domain) + ".") +
            std::string(one.name) + " | " + joined(one.versions) + " | " + meaning(one) + " |\n";
  }
  return page;
}

}  // namespace tensorsmith

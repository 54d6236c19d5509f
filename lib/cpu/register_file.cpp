// SPDX-License-Identifier: Apache-2.0
#include "register_file.hpp"

#include <algorithm>

namespace tensorsmith::llvm_codegen {
namespace {

const Piece* find_piece(const Pieces& pieces, std::int64_t element) {
  auto after =
      std::upper_bound(pieces.begin(), pieces.end(), element,
                       [](std::int64_t value, const Piece& piece) { return value < piece.start; });
  if (after == pieces.begin()) {
    return nullptr;
  }
  --after;
  return element < after->start + after->count ? &*after : nullptr;
}

int power_of_two(int n) {
  int power = 1;
  while (power < n) {
    power *= 2;
  }
  return power;
}

}  // namespace

LLVMValueRef RegisterFile::read(IrBuilder& b, BufferId buffer, DType type, std::int64_t start,
                                int count, int lanes) const {
  const auto found = buffers_.find(buffer);
  const Pieces none;
  const Pieces& pieces = found == buffers_.end() ? none : found->second;
  const Piece* const first = find_piece(pieces, start);
  if (first != nullptr && first->start == start && first->count == count &&
      lanes_of(first->value) == lanes) {
    return first->value;
  }
  LLVMValueRef result = LLVMConstNull(b.m.compute_type(type, lanes));
  for (int lane = 0; lane < count;) {
    const Piece* const piece = find_piece(pieces, start + lane);
    if (piece == nullptr) {
      ++lane;
      continue;
    }
    const int from = static_cast<int>(start + lane - piece->start);
    const int run = std::min(count - lane, piece->count - from);
    if (lanes == 1) {
      return b.extract(piece->value, from);
    }
    if (run == 1) {
      result = b.insert(result, b.extract(piece->value, from), lane);
    } else if (lane == 0) {
      result = b.part(piece->value, from, run, lanes);
    } else {
      const LLVMValueRef next = b.part(piece->value, from, run, lanes);
      result = b.joined(result, lane, next, run);
    }
    lane += run;
  }
  return result;
}

void RegisterFile::write(IrBuilder& b, BufferId buffer, std::int64_t start, int count,
                         LLVMValueRef value) {
  Pieces& pieces = buffers_[buffer];
  auto at =
      std::lower_bound(pieces.begin(), pieces.end(), start, [](const Piece& piece, std::int64_t s) {
        return piece.start + piece.count <= s;
      });
  if (at != pieces.end() && at->start == start && at->count == count) {
    at->value = value;
    return;
  }
  Pieces kept;
  const std::int64_t end = start + count;
  auto last = at;
  for (; last != pieces.end() && last->start < end; ++last) {
    const auto keep = [&](std::int64_t begin, std::int64_t stop) {
      if (begin >= stop) {
        return;
      }
      const int from = static_cast<int>(begin - last->start);
      const int left = static_cast<int>(stop - begin);
      kept.push_back(Piece{begin, left,
                           left == 1 ? b.extract(last->value, from)
                                     : b.part(last->value, from, left, power_of_two(left))});
    };
    keep(last->start, std::min(start, last->start + last->count));
    keep(std::max(end, last->start), last->start + last->count);
  }
  const auto position = std::find_if(kept.begin(), kept.end(),
                                     [&](const Piece& piece) { return piece.start > start; });
  kept.insert(position, Piece{start, count, value});
  at = pieces.erase(at, last);
  pieces.insert(at, kept.begin(), kept.end());
}

void RegisterFile::replace_value(LLVMValueRef old_value, LLVMValueRef new_value) {
  for (auto& [buffer, pieces] : buffers_) {
    for (Piece& piece : pieces) {
      if (piece.value == old_value) {
        piece.value = new_value;
      }
    }
  }
}

Pieces united_shape(const Pieces& a, const Pieces& b) {
  Pieces all = a;
  for (const Piece& piece : b) {
    int i = 0;
    while (i < piece.count) {
      int run = 0;
      while (i + run < piece.count && find_piece(a, piece.start + i + run) == nullptr) {
        ++run;
      }
      if (run > 0) {
        // A whole piece keeps its value (and lanes); a part only marks the place.
        all.push_back(Piece{piece.start + i, run, run == piece.count ? piece.value : nullptr});
      }
      i += run + 1;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Piece& x, const Piece& y) { return x.start < y.start; });
  return all;
}

}  // namespace tensorsmith::llvm_codegen

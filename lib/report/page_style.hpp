// SPDX-License-Identifier: Apache-2.0
// The style sheet of the report page.
//
// Private to lib/report. Own design: fonts of the system, light or dark as the reader's.
#pragma once

namespace tensorsmith {

inline constexpr const char* page_style = R"(
:root { --text: #1d2430; --soft: #667085; --line: #e3e7ee; --back: #ffffff; --panel: #f7f8fa;
  --best: #1f6feb; --dot: #8fb4ee; --good: #1a7f4b; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ef; --soft: #98a2b3; --line: #30363f; --back: #14171c; --panel: #1c2027;
    --best: #6ea8fe; --dot: #3f5f92; --good: #4cc38a; --bad: #ff7a6e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; color: var(--text);
  background: var(--back); font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; padding-top: 1.5rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p { margin: .25rem 0 .75rem; } .soft { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.fact { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .9rem; min-width: 8rem; }
.fact b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.fact span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .35rem 1.25rem .35rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem;
  overflow-x: auto; font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
code { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--best); margin: .5rem 0; }
svg { width: 100%; height: auto; display: block; }
svg .grid { stroke: var(--line); } svg .tick { fill: var(--soft); font-size: 12px; }
svg .best { fill: none; stroke: var(--best); stroke-width: 2; }
svg .earlier { fill: none; stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
svg .trial { fill: var(--dot); }
svg .row { fill: var(--text); font-size: 12px; } svg .small { fill: var(--soft); font-size: 11px; }
svg .bar { fill: var(--dot); } svg .node { fill: var(--best); }
svg .arc { fill: none; stroke: var(--soft); stroke-width: 1; opacity: .7; }
@media print { details > * { display: block; } }
)";

}  // namespace tensorsmith

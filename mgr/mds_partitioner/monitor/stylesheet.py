# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the status page looks: wide and narrow, light and dark."""

STYLE = """
:root { color-scheme: light dark; --bg: #f6f7f9; --card: #ffffff; --ink: #1b2430; --dim: #5b6675;
  --rule: #dfe3e8; --load: #3569c8; --hot: #c2410c; --limit: #b91c1c; --good: #18794e; --track: #e8ebf0; }
@media (prefers-color-scheme: dark) { :root { --bg: #12161c; --card: #1b2129; --ink: #e6eaf0; --dim: #9aa6b5;
  --rule: #303844; --load: #6d9df2; --hot: #fb923c; --limit: #f87171; --good: #4ade80; --track: #2a323d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink);
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header { max-width: 68rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding-top: 1rem; }
h1 { font-size: 1.15rem; margin: 0; } h2 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: .95rem; margin: 1.5rem 0 .4rem; }
.dim, header p { color: var(--dim); margin: 0; font-size: .9rem; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; margin: 1rem 0;
  padding: 1rem 1.25rem 1.25rem; }
.head { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
.badge { border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; }
.good { color: var(--good); } .bad { color: var(--hot); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .75rem 1rem;
  margin: 1rem 0 0; }
dt { color: var(--dim); font-size: .85rem; } dd { margin: 0; font-size: 1.35rem;
  font-variant-numeric: tabular-nums; }
dd small { display: block; font-size: .8rem; color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--dim); font-weight: 500; font-size: .85rem; }
th:first-child, td:first-child, th.left, td.left { text-align: left; }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 10rem; }
td.wide { width: 40%; min-width: 7rem; }
.legend { color: var(--dim); font-size: .8rem; margin: .4rem 0 0; }
.key { display: inline-block; width: .8rem; height: .55rem; margin: 0 .3rem 0 .8rem; }
.key:first-child { margin-left: 0; }
.key.load { background: var(--load); } .key.hot { background: var(--hot); }
.key.forecast { width: 2px; height: .8rem; background: var(--ink); vertical-align: middle; }
.key.limit { width: 2px; height: .8rem; background: var(--limit); vertical-align: middle; }
svg { display: block; width: 100%; overflow: visible; }
line, polyline { vector-effect: non-scaling-stroke; }
.chart { display: grid; grid-template-columns: auto 1fr; gap: .3rem .5rem; color: var(--dim);
  font-size: .8rem; padding-top: .5rem; }
.chart svg { height: 9rem; }
.ys, .xs { display: flex; justify-content: space-between; line-height: 1; }
.ys { flex-direction: column; margin: -.4rem 0; text-align: right; } .xs { grid-column: 2; }
.grid { stroke: var(--rule); }
.line { fill: none; stroke: var(--load); stroke-width: 2; stroke-linecap: round; }
.limit { stroke: var(--limit); stroke-width: 1.5; } .chart .limit { stroke-dasharray: 5 4; }
.bar { height: .9rem; } .track { fill: var(--track); } rect.load { fill: var(--load); }
rect.hot { fill: var(--hot); } .forecast { stroke: var(--ink); stroke-width: 2; }
progress { width: 100%; height: .8rem; accent-color: var(--load); }
a { color: var(--load); }
"""

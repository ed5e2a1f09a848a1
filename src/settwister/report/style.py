"""The style sheet of every page: colours for light and dark, and what charts and tables look like."""

COLOURS = """
:root { color-scheme: light dark;
  --text: #1c1e21; --soft: #5f6670; --line: #d9dde3; --page: #ffffff; --shade: #f5f6f8; --heat: #6aa5ea;
  --c0: #0b62c4; --c1: #c2410c; --c2: #15803d; --c3: #7e22ce;
  --c4: #b8860b; --c5: #be185d; --c6: #0f766e; --c7: #525252; }
@media (prefers-color-scheme: dark) { :root {
  --text: #e6e8eb; --soft: #9aa3ad; --line: #3a4048; --page: #16181b; --shade: #202327; --heat: #2a5d9f;
  --c0: #6fb1ff; --c1: #ff9a66; --c2: #6fd08c; --c3: #c79bff;
  --c4: #e8c35a; --c5: #ff8fc0; --c6: #5fd3c6; --c7: #c4c4c4; } }
"""

WORDS = """
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; margin-bottom: 0.3rem; }
p.note, figcaption { color: var(--soft); }
p.caveat { border-left: 0.25rem solid var(--c1); background: var(--shade); padding: 0.5rem 0.8rem; margin: 0.5rem 0; }
pre { background: var(--shade); padding: 0.7rem 0.9rem; overflow-x: auto; font-size: 0.9rem; margin: 0.3rem 0 1rem; }
dl.figures { display: flex; flex-wrap: wrap; gap: 0.8rem; margin: 1rem 0; }
dl.figures div { background: var(--shade); padding: 0.6rem 1rem; flex: 1 1 8rem; }
dl.figures dt { color: var(--soft); font-size: 0.9rem; }
dl.figures dd { margin: 0; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
dl.figures dd small { display: block; font-size: 0.85rem; color: var(--soft); }
.scroll { overflow-x: auto; }
summary { cursor: pointer; margin: 0.3rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
.words { text-align: left; }
td.words { white-space: normal; min-width: 6.5rem; }
thead th { background: var(--shade); }
"""

CHARTS = """
figure { margin: 1rem 0; overflow-x: auto; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
svg text.on { fill: var(--text); }
svg text.value { fill: var(--text); paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
svg .grid { stroke: var(--line); }
svg .guide { stroke: var(--text); stroke-dasharray: 5 4; }
svg .whisker { stroke: var(--text); stroke-width: 1.5; }
svg .bar { fill: var(--c0); fill-opacity: 0.75; }
svg .cell { fill: none; pointer-events: all; stroke: var(--line); }
svg .heat { fill: var(--heat); }
svg .dot { fill: var(--c0); fill-opacity: 0.65; stroke: var(--c0); }
svg polyline { fill: none; stroke-width: 1.8; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; margin: 0; }
ul.legend { font-size: 0.9rem; color: var(--text); }
.key { display: inline-block; width: 1.4rem; height: 0.2rem; margin-right: 0.4rem; vertical-align: middle; }
ul.bars { list-style: none; padding: 0; display: grid; gap: 0.35rem; max-width: 44rem; }
ul.bars li { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr 4rem; gap: 0.7rem; align-items: center; }
ul.bars .strip { background: var(--shade); }
ul.bars .strip span { display: block; height: 0.9rem; background: var(--c0); }
ul.bars .number { text-align: right; font-variant-numeric: tabular-nums; }
ul.bars .chosen { font-weight: 600; }
polyline.dashed { stroke-dasharray: 6 4; }
ul.bars .other .strip span { background: var(--c7); }
@media (max-width: 36rem) {
  svg.roomy text { font-size: 17px; }
  th, td { padding: 0.3rem 0.4rem; font-size: 0.93rem; }
  ul.bars li { grid-template-columns: 1fr 4rem; gap: 0 0.7rem; }
  ul.bars .name { grid-column: 1 / -1; } }
""" + "\n".join(
    f"polyline.series-{i} {{ stroke: var(--c{i}); }} .key.series-{i} {{ background: var(--c{i}); }} "
    f".key.series-{i}.dashed {{ background: repeating-linear-gradient(90deg, var(--c{i}) 0 5px, transparent 0 8px); }}"
    for i in range(8)
)

STYLE = COLOURS + WORDS + CHARTS

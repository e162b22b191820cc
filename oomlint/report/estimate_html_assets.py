"""The look and the little behaviour of the HTML report. Everything is in the one file: it opens without a network."""

STYLE = """
.oomlint{--page:#fff;--text:#1c1f24;--faint:#5b6270;--line:#dfe3e9;--soft:#f3f5f8;--bar:#2f6fc4;--area:#2f6fc433;
--good:#1a7f4b;--bad:#c0322b;--close:#96660a;--limit:#c0322b;
background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
max-width:60rem;margin:0 auto;padding:1.25rem;box-sizing:border-box;overflow-wrap:break-word}
@media (prefers-color-scheme:dark){.oomlint{--page:#14171c;--text:#e6e9ee;--faint:#9aa3b2;--line:#303742;
--soft:#1d222a;--bar:#6ba4ec;--area:#6ba4ec38;--good:#5cc48d;--bad:#f2817a;--close:#e0b252;--limit:#f2817a}}
.oomlint *{box-sizing:border-box}
.oomlint h1{font-size:1.6rem;line-height:1.25;margin:0 0 .35rem}
.oomlint h2{font-size:1.1rem;margin:2.25rem 0 .6rem}
.oomlint p{margin:.4rem 0}
.oomlint .about,.oomlint .faint,.oomlint figcaption{color:var(--faint)}
.oomlint .fits h1{color:var(--good)}.oomlint .does-not-fit h1{color:var(--bad)}.oomlint .tight h1{color:var(--close)}
.oomlint .need{position:relative;height:1.5rem;background:var(--soft);border:1px solid var(--line);
border-radius:4px;margin:1rem 0 .3rem}
.oomlint .need>i{position:absolute;inset:0 auto 0 0;background:var(--bar);border-radius:3px 0 0 3px}
.oomlint .need>b{position:absolute;top:-5px;bottom:-5px;width:2px;margin-left:-1px;background:var(--limit)}
.oomlint .numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.75rem;margin:1rem 0 0}
.oomlint .numbers div{background:var(--soft);border-radius:6px;padding:.6rem .8rem}
.oomlint .numbers dt{color:var(--faint);font-size:.85rem}
.oomlint .numbers dd{margin:0;font-size:1.2rem;font-weight:600}
.oomlint .numbers dd small{display:block;font-size:.8rem;font-weight:400;color:var(--faint)}
.oomlint dl.numbers{margin-bottom:0}
.oomlint figure{margin:0}
.oomlint .plot{position:relative;height:16rem;border-bottom:1px solid var(--line);outline-offset:3px;
touch-action:pan-y}
.oomlint .plot svg{position:absolute;inset:0;width:100%;height:100%}
.oomlint .area{fill:var(--area)}
.oomlint .line{fill:none;stroke:var(--bar);stroke-width:1.5;vector-effect:non-scaling-stroke}
.oomlint .limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:6 4;vector-effect:non-scaling-stroke}
.oomlint .limit-label{position:absolute;left:0;transform:translateY(-115%);color:var(--limit);font-size:.85rem;
text-shadow:0 0 3px var(--page),0 0 3px var(--page),0 0 3px var(--page)}
.oomlint .dot{position:absolute;width:10px;height:10px;margin:-5px;border-radius:50%;background:var(--bar);
border:2px solid var(--page)}
.oomlint .peak-label{position:absolute;font-size:.85rem;font-weight:600;max-width:48%;padding:0 .5rem;
transform:translateY(-105%);white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.oomlint .peak-label.end{transform:translate(-100%,-105%);text-align:right}
.oomlint .cursor{position:absolute;top:0;bottom:0;width:1px;background:var(--faint);pointer-events:none}
.oomlint figcaption{font-size:.9rem;min-height:3em;padding-top:.3rem}
.oomlint .scroll{overflow-x:auto}
.oomlint table{border-collapse:collapse;width:100%;font-size:.92rem;color:inherit}
.oomlint th,.oomlint td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;
vertical-align:top;background:none;color:inherit}
.oomlint th{font-weight:600;white-space:nowrap}
.oomlint .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.oomlint th button{all:unset;cursor:pointer;font-weight:600}
.oomlint th button:focus-visible{outline:2px solid var(--bar);outline-offset:2px}
.oomlint th[aria-sort=ascending] button::after{content:" \\2191"}
.oomlint th[aria-sort=descending] button::after{content:" \\2193"}
.oomlint td.shape{white-space:nowrap}
.oomlint td.meter{width:26%;min-width:5rem}
.oomlint td.meter i{display:block;height:.7rem;margin-top:.4rem;min-width:1px;background:var(--bar);
border-radius:0 3px 3px 0}
.oomlint .yes{color:var(--good);font-weight:600}.oomlint .no{color:var(--bad);font-weight:600}
.oomlint ul{padding-left:1.1rem;margin:.4rem 0}
.oomlint code{font-size:.92em}
@media (max-width:36rem){.oomlint{padding:.9rem}.oomlint h1{font-size:1.3rem}.oomlint .plot{height:13rem}
.oomlint th,.oomlint td{padding:.35rem .4rem}.oomlint th,.oomlint th.n{white-space:normal}
.oomlint .wide{display:none}.oomlint td{overflow-wrap:anywhere}.oomlint td.n{overflow-wrap:normal}}
@media print{.oomlint{max-width:none}}
"""

SCRIPT = """
for (const root of document.querySelectorAll('.oomlint:not([data-live])')) {
  root.dataset.live = '1';
  for (const button of root.querySelectorAll('th button')) button.onclick = () => {
    const head = button.closest('th'), body = head.closest('table').tBodies[0];
    const column = head.cellIndex;
    const number = head.classList.contains('n'), sorted = head.getAttribute('aria-sort');
    const up = sorted ? sorted === 'descending' : !number;
    const value = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const rows = [...body.rows].sort((a, b) => {
      const order = number ? value(a) - value(b) : value(a).localeCompare(value(b));
      return up ? order : -order;
    });
    for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    body.append(...rows);
  };
  const plot = root.querySelector('.plot');
  if (!plot) continue;
  const moments = JSON.parse(root.querySelector('.moments').textContent);
  const cursor = root.querySelector('.cursor'), readout = root.querySelector('.readout');
  const first = readout.textContent;
  let place = -1;
  const show = index => {
    place = Math.max(0, Math.min(moments.length - 1, index));
    cursor.hidden = false;
    cursor.style.left = 100 * (place + .5) / moments.length + '%';
    readout.textContent = moments[place][1] + ' at ' + moments[place][0];
  };
  const clear = () => { cursor.hidden = true; readout.textContent = first; };
  plot.onpointermove = event => {
    const box = plot.getBoundingClientRect();
    show(Math.floor((event.clientX - box.left) / box.width * moments.length));
  };
  plot.onpointerleave = clear;
  plot.onblur = clear;
  plot.onkeydown = event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (by) { show(place + by); event.preventDefault(); }
  };
}
"""

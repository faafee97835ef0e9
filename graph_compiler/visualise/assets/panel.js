// What stands beside the drawing: what is selected, the generated source, guards and state.
const byId = (id) => document.getElementById(id);
const LINE = 18; // the height of a line of code, as the styles have it

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (key === "onclick") made.onclick = value; else made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function chooseTab(name) {
  document.querySelectorAll("nav button").forEach((button) => button.classList.toggle("chosen", button.dataset.tab === name));
  document.querySelectorAll("aside section").forEach((section) => { section.hidden = section.id !== name; });
}

function linkTo(view, number) {
  const link = element("a", { onclick: () => view.reveal(number) }, view.variant.name(number) || view.variant.label(number));
  return element("li", {}, link, " ", element("small", { class: "faint" }, `${view.variant.label(number)}  ${view.variant.shapes(number).join(", ")}`));
}

function listed(title, entries, most = 40) {
  if (!entries.length) return [];
  const rest = entries.length > most ? [element("li", {}, `… ${entries.length - most} more`)] : [];
  return [element("h3", {}, title), element("ul", {}, ...entries.slice(0, most).map((make) => make()), ...rest)];
}

function excerpt(lines, first, last) { // lines: [[number, text], ...]
  const block = element("pre", { class: "excerpt" });
  const width = String(lines.length ? lines[lines.length - 1][0] : 0).length;
  for (const [number, text] of lines) {
    const row = element(number >= first && number <= last ? "b" : "span");
    row.append(element("i", {}, String(number).padStart(width)), `  ${text}`);
    block.append(row);
  }
  return block;
}

function generated(view, number) {
  const variant = view.variant, first = variant.items.line[number];
  if (!first) return [];
  const last = variant.lastLine(number), lines = variant.lines, from = Math.max(1, first - 3), shown = [];
  for (let line = from; line <= Math.min(lines.length, last + 3, first + 30); line++) shown.push([line, lines[line - 1]]);
  const whole = element("a", { onclick: () => { chooseTab("source"); scrollToLine(first); } }, `line ${first}`);
  return [element("h3", {}, "Generated source, ", whole), excerpt(shown, first, last)];
}

function written(view, number) {
  const place = view.variant.place(number);
  if (!place) return [];
  const shown = Object.entries(place.file.lines).map(([line, text]) => [Number(line), text]).filter(([line]) => Math.abs(line - place.line) <= 4);
  return [element("h3", {}, `Recorded at ${place.file.name}:${place.line}`), ...(shown.length ? [excerpt(shown, place.line, place.line)] : [element("p", {}, "The file is not on the machine that wrote this page.")])];
}

function showItem(view, number) {
  const variant = view.variant, items = variant.items, panel = byId("details");
  const shapes = items.specs[number].map((spec) => variant.specs[spec]);
  const path = variant.modulePath(number), groups = variant.groupsAbove(number);
  panel.replaceChildren(
    element("h2", {}, variant.op(number) === variant.kind(number) ? `${variant.kind(number)} ${variant.name(number)}` : variant.op(number)),
    ...(path ? [element("p", {}, "in ", element("a", { onclick: () => view.showGroup(groups[groups.length - 1]) }, path))] : []),
    ...(shapes.length ? [element("h3", {}, shapes.length > 1 ? "Gives" : "Shape and type")] : []),
    ...shapes.map(([seen, symbols]) => element("p", { class: "mono" }, seen, ...(symbols ? [element("br"), element("small", { class: "faint" }, symbols)] : []))),
    ...generated(view, number), ...written(view, number),
    ...listed("Takes", items.data[number].map((source) => () => linkTo(view, source))),
    ...listed("Parameters and constants", items.held[number].map((array) => () => element("li", {}, variant.arrays[array][0], " ", element("small", { class: "faint" }, `${variant.arrays[array][1]} ${variant.specs[variant.arrays[array][2]][0]}`)))),
    ...listed("Reads sizes of", items.sized[number].map((source) => () => linkTo(view, source))),
    ...listed("Used by", variant.users[number].map((user) => () => linkTo(view, user))),
    ...listed("Guards", variant.guards.filter(([, all]) => all.includes(number)).map(([text]) => () => element("li", {}, text))),
    ...listed("State", variant.state.filter(([, all]) => all.includes(number)).map(([text]) => () => element("li", {}, text))),
  );
  if (items.line[number]) scrollToLine(items.line[number], variant.lastLine(number));
}

function showGroup(view, group) {
  const variant = view.variant, counts = new Map(), arrays = new Set();
  for (let number = group.first; number <= group.last; number++) {
    if (variant.isOperation(number)) counts.set(variant.label(number), (counts.get(variant.label(number)) || 0) + 1);
    variant.items.held[number].forEach((array) => { if (variant.arrays[array][1] === "parameter") arrays.add(array); });
  }
  const elements = [...arrays].reduce((sum, array) => sum + variant.elements(array), 0);
  const found = [...counts].sort((one, other) => other[1] - one[1]);
  byId("details").replaceChildren(
    element("h2", {}, group.path || group.name),
    element("p", {}, `${countText(variant, group)}, ${elements.toLocaleString("en")} elements in ${arrays.size} parameter${arrays.size === 1 ? "" : "s"}`),
    ...listed("Operations", found.map(([name, count]) => () => element("li", {}, `${count.toLocaleString("en")} × ${name}`))),
    ...listed("Parameters", [...arrays].map((array) => () => element("li", {}, variant.arrays[array][0], " ", element("small", { class: "faint" }, variant.specs[variant.arrays[array][2]][0])))),
  );
}

function showVariant(view) {
  const variant = view.variant;
  showGroup(view, variant.root);
  byId("details").append(element("h3", {}, "Recorded with"), ...variant.inputs.map((text) => element("p", { class: "mono" }, text)), element("h3", {}, "Because"), element("p", {}, variant.why));
  byId("numbers").textContent = variant.source.split("\n").map((_, index) => index + 1).join("\n");
  byId("text").textContent = variant.source;
  byId("mark").style.height = 0;
  for (const [id, entries, none] of [["guards", variant.guards, "No call that fits the signature is turned away."], ["state", variant.state, "Nothing outlives a call."]]) {
    document.querySelector(`nav [data-tab=${id}]`).textContent = `${id[0].toUpperCase()}${id.slice(1)} (${entries.length})`;
    byId(id).replaceChildren(...(entries.length ? [element("ul", {}, ...entries.map(([text, items]) => element("li", { class: "entry" }, items.length ? element("a", { onclick: () => view.reveal(items[0]) }, text) : text)))] : [element("p", {}, none)]));
  }
}

function scrollToLine(first, last = first) {
  Object.assign(byId("mark").style, { top: `${6 + (first - 1) * LINE}px`, height: `${(last - first + 1) * LINE}px` });
  byId("source").scrollTop = Math.max(0, (first - 8) * LINE);
}

byId("text").onclick = (event) => {
  if (String(window.getSelection())) return; // somebody copies
  const line = 1 + Math.floor((event.clientY - byId("text").getBoundingClientRect().top) / LINE), lines = view.variant.items.line;
  let found = -1;
  for (let number = 0; number < lines.length - 1; number++) if (lines[number] && lines[number] <= line) found = number;
  if (found >= 0 && line <= view.variant.lastLine(found)) { view.reveal(found); chooseTab("source"); }
};
document.querySelectorAll("nav button").forEach((button) => { button.onclick = () => chooseTab(button.dataset.tab); });

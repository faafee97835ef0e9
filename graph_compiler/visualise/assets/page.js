// The page as a whole: which variant is shown, what is open and selected, and the search.
const view = {
  variants: data.variants.map(() => null),
  places: new Map(),
  selected: null,
  show(index) {
    this.variant = this.variants[index] || (this.variants[index] = new Variant(data.variants[index]));
    this.selected = this.haystack = null;
    draw(this);
    fit(this, 0, 0.75);
    showVariant(this);
  },
  // Opens or closes a group, whose head stays where it is on the screen.
  toggle(group) {
    const [x, y] = this.places.get(group), { k } = d3.zoomTransform(svg.node());
    group.isOpen = !group.isOpen;
    forgetLayout(group);
    this.selected = group;
    draw(this);
    const [nextX, nextY] = this.places.get(group);
    svg.call(zoom.translateBy, 0, 0);
    const at = d3.zoomTransform(svg.node());
    svg.call(zoom.transform, d3.zoomIdentity.translate(at.x + (x - nextX) * k, at.y + (y - nextY) * k).scale(k));
    showGroup(this, group);
  },
  showGroup(group) {
    this.selected = group;
    markSelected(this);
    showGroup(this, group);
    if (this.places.has(group)) centre(this, group, 250);
  },
  select(number) {
    this.selected = number;
    markSelected(this);
    showItem(this, number);
    if (byId("source").hidden) chooseTab("details");
  },
  // Opens whatever an item is in, and goes there.
  reveal(number) {
    for (const group of this.variant.groupsAbove(number)) if (!group.isOpen) { group.isOpen = true; forgetLayout(group); }
    draw(this);
    this.select(number);
    centre(this, number, 250);
  },
  level() {
    const open = (group) => group.children.filter((child) => child.children).forEach((child) => { if (child.isOpen) open(child); else waiting.push(child); });
    const waiting = [];
    open(this.variant.root);
    let room = 1500 - drawn; // more boxes than that nobody can look at
    for (const group of waiting) if ((room -= group.children.length) > 0) { group.isOpen = true; forgetLayout(group); }
    draw(this);
    fit(this, 250);
  },
  close() {
    const shut = (group) => { group.isOpen = false; group.layout = null; group.children.forEach((child) => child.children && shut(child)); };
    shut(this.variant.root);
    this.variant.root.isOpen = true;
    draw(this);
    fit(this, 250, 0.75);
  },
  find(text) {
    const variant = this.variant, words = text.toLowerCase().split(/\s+/).filter(Boolean), found = [];
    if (!this.haystack) this.haystack = Array.from({ length: variant.total }, (_, number) => {
      const place = variant.place(number);
      const arrays = variant.items.held[number].map((array) => variant.arrays[array][0]).join(" ");
      return `${variant.op(number)} ${variant.name(number)} ${variant.modulePath(number)} ${place ? `${place.file.name}:${place.line}` : ""} ${arrays} ${variant.shapes(number).join(" ")} ${[...(variant.marks.get(number) || [])].join(" ")}`.toLowerCase();
    });
    for (let number = 0; words.length && number < variant.total && found.length < 100; number++) if (words.every((word) => this.haystack[number].includes(word))) found.push(number);
    return found;
  },
};

function listFound() {
  const found = view.find(byId("search").value), list = byId("found");
  list.hidden = !byId("search").value.trim();
  list.replaceChildren(...found.map((number, index) => element("li", { "data-found": number, class: index ? "" : "chosen", onclick: () => { view.reveal(number); } },
    element("span", {}, view.variant.label(number)), element("small", {}, `${view.variant.name(number)}  ${view.variant.modulePath(number)}  ${view.variant.shortShape(number)}`))));
  if (!found.length) list.append(element("li", {}, element("small", {}, "nothing of that name")));
}

function stepFound(by) {
  const all = [...byId("found").querySelectorAll("[data-found]")], at = all.findIndex((one) => one.classList.contains("chosen"));
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (!next) return null;
  all.forEach((one) => one.classList.toggle("chosen", one === next));
  next.scrollIntoView({ block: "nearest" });
  return Number(next.dataset.found);
}

byId("search").oninput = listFound;
byId("search").onfocus = listFound;
byId("search").onkeydown = (event) => {
  if (event.key === "Enter") { const number = stepFound(0); if (number !== null) view.reveal(number); }
  if (event.key === "ArrowDown") { stepFound(1); event.preventDefault(); }
  if (event.key === "ArrowUp") { stepFound(-1); event.preventDefault(); }
  if (event.key === "Escape") { byId("found").hidden = true; byId("search").blur(); }
};
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) byId("found").hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select")) return;
  if (event.key === "/") { byId("search").focus(); event.preventDefault(); }
  if (event.key === "f") fit(view, 250);
});
byId("more").onclick = () => view.level();
byId("less").onclick = () => view.close();
byId("fit").onclick = () => fit(view, 250);
byId("name").textContent = data.name;
byId("about").textContent = data.from === data.to ? data.from : `${data.from} → ${data.to}`;
byId("variant").replaceChildren(...data.variants.map((one, index) => element("option", { value: index }, cut(`variant ${index}: ${one.inputs.join(", ") || "no arrays"}`, 70))));
byId("variant").hidden = data.variants.length < 2;
byId("variant").onchange = (event) => view.show(Number(event.target.value));
const kinds = [...new Set(data.variants.flatMap((one) => one.kinds))].filter((kind) => kind !== "output");
byId("legend").replaceChildren(...kinds.map((kind) => element("li", { style: `--kind: var(--${kind})` }, element("i"), kind)),
  ...(data.variants.some((one) => one.guards.length) ? [element("li", {}, "◆ guarded")] : []), ...(data.variants.some((one) => one.state.length) ? [element("li", {}, "● state")] : []));
view.show(0);
window.graphPage = view; // for the console, and for tests
document.documentElement.dataset.ready = Math.round(performance.now());

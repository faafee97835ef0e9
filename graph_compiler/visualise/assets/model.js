// The data of the page, and the tree of groups. Items are numbered in program order; a group covers the numbers from first to last.
const data = JSON.parse(document.getElementById("graph").textContent);

function leaf(number, parent) {
  return { item: number, first: number, last: number, parent };
}

function groupOf([name, path, packed], parent, depth) {
  const group = { name, path, parent, depth, children: [], isOpen: false };
  for (const part of packed) {
    if (typeof part === "string") {
      const [first, last] = part.split("-").map(Number);
      for (let number = first; number <= last; number++) group.children.push(leaf(number, group));
    } else group.children.push(groupOf(part, group, depth + 1));
  }
  group.first = group.children.length ? group.children[0].first : 0;
  group.last = group.children.length ? group.children[group.children.length - 1].last : -1;
  return group;
}

// The child of a group that an item is in: its children are in order, so it is found by halving.
function childWith(group, number) {
  let low = 0, high = group.children.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (group.children[middle].last < number) low = middle + 1; else high = middle;
  }
  return group.children[low];
}

class Variant {
  constructor(raw) {
    Object.assign(this, raw);
    this.total = raw.items.op.length;
    this.root = groupOf(raw.root, null, 0);
    this.root.isOpen = true;
    this.users = Array.from({ length: this.total }, () => []);
    raw.items.data.forEach((sources, number) => sources.forEach((source) => this.users[source].push(number)));
    this.marks = new Map();
    raw.guards.forEach(([, items]) => items.forEach((number) => this.mark(number, "guard")));
    raw.state.forEach(([, items]) => items.forEach((number) => this.mark(number, "state")));
    this.openSome(60);
  }
  mark(number, word) {
    if (!this.marks.has(number)) this.marks.set(number, new Set());
    this.marks.get(number).add(word);
  }
  // Opens groups, a level at a time, as long as so many boxes are drawn at most.
  openSome(most) {
    let drawn = this.root.children.length, level = this.root.children;
    while ((level = level.filter((child) => child.children)).length) {
      const inner = level.flatMap((group) => group.children);
      if ((drawn += inner.length) > most) break;
      level.forEach((group) => { group.isOpen = true; });
      level = inner;
    }
  }
  op(number) { return this.ops[this.items.op[number]]; }
  isOperation(number) { return !["input", "state", "key", "output"].includes(this.kind(number)); }
  label(number) { return this.isOperation(number) ? this.op(number).replace(/^.*\./, "") : this.name(number); }
  // As a box is called: with the module whose only operation it is.
  title(number, group) {
    const path = this.modulePath(number);
    for (let one = group; one; one = one.parent) if (one.path) return path === one.path ? this.label(number) : `${path.slice(one.path.length + 1)}: ${this.label(number)}`;
    return path ? `${path}: ${this.label(number)}` : this.label(number);
  }
  count(group) {
    let count = 0;
    for (let number = group.first; number <= group.last; number++) if (this.isOperation(number)) count++;
    return count;
  }
  name(number) { return this.names[this.items.name[number]]; }
  kind(number) { return this.kinds[this.items.kind[number]]; }
  shapes(number) { return this.items.specs[number].map((spec) => this.specs[spec][0]); }
  shortShape(number) {
    const shapes = this.shapes(number).map((text) => text.replace(/, /g, "×").replace("[", " ").replace("]", "").trim());
    return shapes.length > 1 ? `${shapes[0]} +${shapes.length - 1}` : shapes[0] || "";
  }
  place(number) {
    const [file, line] = this.places[this.items.place[number]];
    return file < 0 ? null : { file: this.files[file], line };
  }
  groupsAbove(number) {
    const found = [];
    for (let child = this.root; child && child.children; child = childWith(child, number)) found.push(child);
    return found;
  }
  modulePath(number) { return this.modules[this.items.module[number]]; }
  elements(array) {
    const shape = this.specs[this.arrays[array][2]][0].match(/\[(.*)\]/)[1];
    return shape ? shape.split(",").reduce((product, size) => product * Number(size), 1) : 1;
  }
  lastLine(number) { // of an item in the generated source: where the next one begins
    const lines = this.lines || (this.lines = this.source.split("\n"));
    const next = this.items.line[number + 1] || this.items.line[number] + 1;
    let last = Math.max(this.items.line[number], next - 1);
    while (last > this.items.line[number] && /^\s*($|#|del |if not |with |raise )/.test(lines[last - 1] || "")) last--;
    return last;
  }
}

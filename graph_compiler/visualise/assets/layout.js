// Where boxes stand. Each open group is laid out by itself, by dagre, with the open groups inside of it as boxes of their size: what is
// closed costs nothing, and what is opened changes only what is around it.
const HEAD = 24, ROW = 34, MOST_PORTS = 6;
const measure = document.createElement("canvas").getContext("2d");

function textWidth(text, size) {
  measure.font = `${size}px system-ui, sans-serif`;
  return measure.measureText(text).width;
}

function cut(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }

function sizeOf(variant, child) {
  if (child.children) {
    if (child.isOpen) {
      const { width, height } = layout(variant, child);
      return { width: Math.max(width, textWidth(cut(child.name, 60), 12) + 40), height: height + HEAD };
    }
    return { width: Math.max(110, textWidth(cut(child.name, 40), 12) + 28), height: ROW + 4 };
  }
  const widest = Math.max(textWidth(cut(variant.title(child.item, child.parent), 44), 12) + (variant.marks.has(child.item) ? 26 : 0), textWidth(cut(variant.shortShape(child.item), 40), 10));
  return { width: Math.max(64, widest + 24), height: ROW };
}

// The edges among the children of a group, those of the same ends as one, and those that come in and go out.
function edgesOf(variant, group) {
  const inner = new Map(), incoming = new Map(), outgoing = new Map();
  const children = group.children;
  let at = 0;
  const add = (table, key, from, to, item) => {
    if (!table.has(key)) table.set(key, { from, to, items: new Set() });
    table.get(key).items.add(item);
  };
  for (let number = group.first; number <= group.last; number++) {
    while (children[at].last < number) at++;
    const target = children[at];
    for (const source of variant.items.data[number]) {
      if (source >= target.first) continue; // inside of one child
      if (source >= group.first) {
        const from = childWith(group, source);
        add(inner, `${from.first} ${target.first}`, from, target, source);
      } else add(incoming, `${source} ${target.first}`, source, target, source);
    }
    for (const user of variant.users[number]) if (user > group.last) add(outgoing, `${number}`, target, number, number);
  }
  return { inner: [...inner.values()], incoming: [...incoming.values()], outgoing: [...outgoing.values()] };
}

// What stands for the other end of an edge that leaves the group: one for each array, and one for all the rest where there are many.
function portsOf(edges, end, side) {
  const found = [...new Set(edges.map((edge) => edge[end]))];
  const kept = found.length > MOST_PORTS ? found.slice(0, MOST_PORTS - 1) : found;
  const ports = new Map(kept.map((item) => [item, { port: side, items: [item], key: `${side}${item}` }]));
  const rest = { port: side, items: found.slice(kept.length), key: `${side}rest` };
  found.slice(kept.length).forEach((item) => ports.set(item, rest));
  return ports;
}

function portLabel(variant, port) {
  return port.items.length > 1 ? `${port.items.length} more` : cut(variant.name(port.items[0]) || variant.label(port.items[0]), 24);
}

function layout(variant, group) {
  if (group.layout) return group.layout;
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 22, edgesep: 8, marginx: 12, marginy: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  const key = (child) => `c${child.first}`;
  for (const child of group.children) graph.setNode(key(child), { child, ...sizeOf(variant, child) });
  const edges = edgesOf(variant, group);
  const connect = (from, to, items) => {
    const known = graph.edge(from, to);
    if (known) items.forEach((item) => known.items.add(item)); else graph.setEdge(from, to, { items: new Set(items) });
  };
  for (const edge of edges.inner) connect(key(edge.from), key(edge.to), edge.items);
  if (group.parent) {
    for (const [list, end, side] of [[edges.incoming, "from", "in"], [edges.outgoing, "to", "out"]]) {
      const ports = portsOf(list, end, side);
      for (const port of new Set(ports.values())) graph.setNode(port.key, { port, width: textWidth(portLabel(variant, port), 10) + 16, height: 15 });
      for (const edge of list) {
        if (side === "in") connect(ports.get(edge.from).key, key(edge.to), edge.items);
        else connect(key(edge.from), ports.get(edge.to).key, edge.items);
      }
    }
  }
  dagre.layout(graph);
  const boxes = graph.nodes().map((name) => graph.node(name));
  const lines = graph.edges().map((edge) => ({ ...graph.edge(edge), from: graph.node(edge.v), to: graph.node(edge.w) }));
  const { width, height } = graph.graph();
  group.layout = { boxes, lines, width: Math.max(width || 0, 60), height: Math.max(height || 0, 30) };
  return group.layout;
}

function forgetLayout(group) {
  for (let one = group; one; one = one.parent) one.layout = null;
}

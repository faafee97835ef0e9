// Draws what is laid out, and moves over it. All boxes of open groups are drawn, nothing of closed ones.
const svg = d3.select("#drawing"), canvas = svg.append("g");
svg.append("defs").append("marker").attr("id", "head").attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4).attr("markerWidth", 7).attr("markerHeight", 7)
  .attr("markerUnits", "userSpaceOnUse").attr("orient", "auto").append("path").attr("class", "head").attr("d", "M0,0L8,4L0,8z");
const zoom = d3.zoom().scaleExtent([0.02, 4]).on("zoom", (event) => canvas.attr("transform", event.transform));
svg.call(zoom).on("dblclick.zoom", null);
const curve = d3.line((point) => point.x, (point) => point.y).curve(d3.curveBasis);
let drawn = 0;

function draw(view) {
  canvas.selectAll("*").remove();
  drawn = 0;
  view.places = new Map(); // group or item -> [x, y, width, height] on the canvas
  drawGroup(view, view.variant.root, canvas, 0, 0);
  markSelected(view);
  document.documentElement.dataset.boxes = drawn;
}

function drawGroup(view, group, parent, left, top) {
  const { boxes, lines } = layout(view.variant, group);
  const edges = parent.append("g");
  for (const line of lines) {
    edges.append("path").datum(line).attr("class", "edge").attr("d", curve(line.points)).attr("marker-end", "url(#head)")
      .attr("stroke-width", Math.min(5, 1 + Math.log2(line.items.size)))
      .append("title").text([...line.items].slice(0, 8).map((item) => `${view.variant.name(item)}  ${view.variant.shapes(item).join(", ")}`).join("\n"));
  }
  for (const box of boxes) {
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    const place = parent.append("g").attr("transform", `translate(${x},${y})`);
    if (box.port) drawPort(view, box, place);
    else if (box.child.children) drawInner(view, box, place, left + x, top + y);
    else drawItem(view, box, place, left + x, top + y);
  }
}

function drawPort(view, box, place) {
  place.attr("class", "port").on("click", (event) => { event.stopPropagation(); view.reveal(box.port.items[0]); });
  place.append("rect").attr("width", box.width).attr("height", box.height).attr("rx", 7);
  place.append("text").attr("x", box.width / 2).attr("y", 11).attr("text-anchor", "middle").text(portLabel(view.variant, box.port));
  place.append("title").text((box.port.port === "in" ? "from " : "to others: ") + box.port.items.slice(0, 12).map((item) => view.variant.name(item)).join(", "));
}

function drawInner(view, box, place, x, y) {
  const group = box.child;
  drawn++;
  view.places.set(group, [x, y, box.width, box.height]);
  place.attr("class", `box group ${group.isOpen ? "open" : "closed"}`).attr("data-group", group.first);
  place.append("rect").attr("width", box.width).attr("height", box.height).attr("rx", 7);
  place.append("text").attr("x", 10).attr("y", 16).text(`${group.isOpen ? "−" : "+"} ${cut(group.name, group.isOpen ? 60 : 40)}`);
  place.append("title").text(group.path || group.name);
  place.on("click", (event) => { event.stopPropagation(); view.toggle(group); });
  if (group.isOpen) {
    const shift = (box.width - group.layout.width) / 2; // a long name may be wider than what is inside
    drawGroup(view, group, place.append("g").attr("transform", `translate(${shift},${HEAD})`), x + shift, y + HEAD);
  } else place.append("text").attr("class", "second").attr("x", 21).attr("y", 30).text(countText(view.variant, group));
}

function countText(variant, group) {
  const count = variant.count(group);
  return `${count.toLocaleString("en")} operation${count === 1 ? "" : "s"}`;
}

function drawItem(view, box, place, x, y) {
  const number = box.child.item, variant = view.variant, marks = variant.marks.get(number);
  drawn++;
  view.places.set(number, [x, y, box.width, box.height]);
  place.attr("class", "box item").attr("data-item", number).style("--kind", `var(--${variant.kind(number)})`);
  place.append("rect").attr("width", box.width).attr("height", box.height).attr("rx", variant.op(number) === variant.kind(number) ? 16 : 4);
  place.append("rect").attr("class", "band").attr("x", 4).attr("y", 7).attr("width", 3.5).attr("height", box.height - 14).attr("rx", 1.5);
  place.append("text").attr("x", 13).attr("y", 15).text(cut(variant.title(number, box.child.parent), 44));
  place.append("text").attr("class", "second").attr("x", 13).attr("y", 28).text(cut(variant.shortShape(number), 40));
  [...(marks || [])].forEach((word, index) => place.append("text").attr("class", `mark ${word}`).attr("x", box.width - 7 - 12 * index).attr("y", 14).attr("text-anchor", "end")
    .text(word === "guard" ? "◆" : "●").append("title").text(word === "guard" ? "a guard looks at this" : "kept as state"));
  const arrays = variant.items.held[number].map((array) => variant.arrays[array][0]);
  place.append("title").text([variant.op(number), ...variant.shapes(number), ...(arrays.length ? [`with ${arrays.join(", ")}`] : [])].join("\n"));
  place.on("click", (event) => { event.stopPropagation(); view.select(number); });
}

function markSelected(view) {
  canvas.selectAll(".box").classed("selected", false);
  const group = typeof view.selected === "object" && view.selected;
  if (view.selected === null) return canvas.selectAll(".edge").classed("near", false);
  canvas.selectAll(group ? ".group" : ".item").filter(function () { return Number(group ? this.dataset.group : this.dataset.item) === (group ? group.first : view.selected); }).classed("selected", true);
  canvas.selectAll(".edge").classed("near", (line) => !group && [line.from, line.to].some((box) => box.child && box.child.item === view.selected));
}

// The first draw shows all of a small graph, and the top of a large one at a size that can be read.
function fit(view, duration = 0, smallest = 0.02) {
  const { width, height } = layout(view.variant, view.variant.root), { clientWidth } = svg.node();
  const clientHeight = svg.node().clientHeight - 30; // without the line of the legend
  const scale = Math.max(smallest, Math.min(1.25, clientWidth / width, clientHeight / height) * 0.97);
  const top = Math.max(8, (clientHeight - height * scale) / 2);
  move(d3.zoomIdentity.translate((clientWidth - width * scale) / 2, top).scale(scale), duration);
}

function move(transform, duration) {
  (duration ? svg.transition().duration(duration) : svg).call(zoom.transform, transform);
}

function centre(view, what, duration) {
  const [x, y, width, height] = view.places.get(what), { clientWidth, clientHeight } = svg.node();
  const scale = Math.max(0.8, Math.min(1.5, d3.zoomTransform(svg.node()).k));
  move(d3.zoomIdentity.translate(clientWidth / 2 - (x + width / 2) * scale, clientHeight / 2 - (y + Math.min(height, 200) / 2) * scale).scale(scale), duration);
}

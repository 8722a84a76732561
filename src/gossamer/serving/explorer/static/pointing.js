// Pointers and keys on a map.

// A press that does not move is a click; two pointers pinch. In a room, dragging turns it, and moves it with Shift.
export function follow(canvas, cloud, select) {
  const pointers = new Map();
  let moved = 0;
  const hover = (event) => {
    const point = cloud.at(event.offsetX, event.offsetY);
    if (point === cloud.hovered) return;
    cloud.hovered = point;
    canvas.style.cursor = point < 0 ? "grab" : "pointer";
    canvas.title = point < 0 ? "" : cloud.names[point];
    cloud.redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const [dx, dy] = [event.offsetX - before[0], event.offsetY - before[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const [other] = [...pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const apart = (at) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
      cloud.zoom(apart([event.offsetX, event.offsetY]) / apart(before), (event.offsetX + other[0]) / 2, (event.offsetY + other[1]) / 2);
    } else if (moved > 4) (cloud.room && !event.shiftKey ? cloud.turn(dx, dy) : cloud.pan(dx, dy));
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    return undefined;
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved <= 4) select(cloud.at(event.offsetX, event.offsetY, 20));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { cloud.hovered = -1; cloud.redraw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    cloud.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 60;
    const move = (dx, dy) => (cloud.room && !event.shiftKey ? cloud.turn(-dx / 2, -dy / 2) : cloud.pan(dx, dy));
    const acts = {
      ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0), ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
      "+": () => cloud.zoom(1.5), "=": () => cloud.zoom(1.5), "-": () => cloud.zoom(1 / 1.5), 0: () => cloud.fit(), Escape: () => select(-1),
      Enter: () => select(cloud.at(canvas.clientWidth / 2, canvas.clientHeight / 2, canvas.clientWidth)),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  // For tests and curious people: what is drawn, where.
  canvas.cloud = cloud;
}

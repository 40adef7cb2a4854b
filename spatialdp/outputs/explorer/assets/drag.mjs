// Drawing a rectangle with mouse, pen or finger: in drawing mode, or any time with the shift key.

const LEAST_PIXELS = 4;

/** Calls `done` with the two corners in Leaflet's coordinates; returns a way to switch drawing mode on and off. */
export function boxDrawing(map, rectangle, done) {
  const container = map.getContainer();
  let start = null;
  let mode = false;

  const at = (event) => map.mouseEventToContainerPoint(event);
  const corners = (event) => [map.containerPointToLatLng(start), map.containerPointToLatLng(at(event))];
  const stop = () => {
    start = null;
    if (!mode) map.dragging.enable();
  };

  container.addEventListener("pointerdown", (event) => {
    const wanted = (mode || event.shiftKey) && event.button === 0 && event.isPrimary;
    if (!wanted || event.target.closest(".leaflet-control")) return start && stop();
    map.dragging.disable();
    container.setPointerCapture(event.pointerId);
    start = at(event);
    return event.preventDefault();
  });
  container.addEventListener("pointermove", (event) => {
    if (start && event.isPrimary) rectangle.setBounds(corners(event)).addTo(map);
  });
  container.addEventListener("pointerup", (event) => {
    if (!start || !event.isPrimary) return;
    const [from, to] = [start, at(event)];
    const ends = corners(event);
    stop();
    if (Math.min(Math.abs(to.x - from.x), Math.abs(to.y - from.y)) >= LEAST_PIXELS) done(ends);
  });
  container.addEventListener("pointercancel", stop);

  return (on) => {
    mode = on;
    container.classList.toggle("drawing", on);
    map.dragging[on ? "disable" : "enable"]();
  };
}

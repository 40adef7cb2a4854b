// How does a user draw a box? With mouse, pen or finger, in drawing mode, or at any time with the shift key held.

const LEAST_PIXELS = 4;

/** Call `done` with two corners in Leaflet's coordinates; return a function that switches drawing mode on and off. */
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
    const draws = (mode || event.shiftKey) && event.button === 0 && event.isPrimary;
    if (!draws || event.target.closest(".leaflet-control")) return start && stop();
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

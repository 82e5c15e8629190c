// Mouse and touch on the text: a drag selects words, a click chooses a span, a handle resizes it, a double click
// takes the word under it. By touch the first tap selects a word, and a second one everything up to there.

export function wirePointer(root, { offsetAt, select, extend, chooseAt, choose, mark, showResize, resizeTo, focus }) {
  let drag = null; // what the pressed button does: the edge it moves, or where its selection began

  const edgeOf = (target) =>
    target.classList?.contains("marks__handle") && (target.classList.contains("marks__handle--end") ? "end" : "start");

  root.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const edge = edgeOf(event.target);
    if (event.pointerType === "touch" && !edge) return; // a finger scrolls; its tap comes as a click
    event.preventDefault();
    focus();
    const start = offsetAt(event.clientX, event.clientY);
    drag = { edge, start, moved: false };
    if (edge) root.setPointerCapture(event.pointerId);
  });

  // no native selection, which would cover the drawn one
  root.addEventListener("mousedown", (event) => event.preventDefault());

  root.addEventListener("pointermove", (event) => {
    if (drag && !(event.buttons & 1)) drag = null; // released outside the window
    if (!drag) return;
    const at = offsetAt(event.clientX, event.clientY);
    if (at === null) return;
    if (drag.edge) showResize(drag.edge, (drag.last = at));
    else {
      if (drag.start === null || (!drag.moved && at === drag.start)) return;
      if (!drag.moved) select(drag.start);
      extend(at);
    }
    drag.moved = true;
  });

  addEventListener("pointerup", () => {
    if (drag?.edge && drag.moved) resizeTo(drag.edge, drag.last);
    root.dataset.dragged = drag?.moved ? "yes" : "";
    drag = null;
  });

  root.addEventListener("click", (event) => {
    if (root.dataset.dragged) {
      root.dataset.dragged = "";
      return;
    }
    if (edgeOf(event.target)) return;
    if (event.target.dataset.span) return choose(Number(event.target.dataset.span));
    const at = offsetAt(event.clientX, event.clientY);
    if (at === null) return;
    const act = event.detail === 2 ? mark : chooseAt;
    act(at, event.pointerType === "touch");
  });
}

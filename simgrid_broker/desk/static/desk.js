"use strict";
// Progress of what is under way: bars, words and shares change in place; a new state of a job shows the page again.
const body = document.body;
if (body.dataset.live !== undefined) {
  const source = new EventSource("/events");
  source.addEventListener("message", event => {
    const {live, progress} = JSON.parse(event.data);
    for (const [place, {part, words, shares}] of Object.entries(progress)) {
      for (const bar of document.querySelectorAll("[data-part]")) if (bar.dataset.part === place) bar.value = part;
      for (const text of document.querySelectorAll("[data-words]"))
        if (text.dataset.words === place) text.textContent = words;
      for (const cell of document.querySelectorAll("[data-of]"))
        if (cell.dataset.of === place && cell.dataset.share in shares) cell.textContent = shares[cell.dataset.share];
    }
    // shares of the run of this page that it does not show yet: the run has begun since
    const {shares = {}} = progress[body.dataset.place] ?? {};
    const hasBegun = Object.keys(shares).length > 0 && !document.querySelector("[data-of]");
    const isWriting = document.activeElement?.matches("textarea, input, select");
    if ((live !== body.dataset.live || hasBegun) && !isWriting) location.reload();
  });
  addEventListener("pagehide", () => source.close());
}

// The answer of a comparison in sentences: the policy with the shortest waits, its margin, and how near our model comes
// to the recorded past.
import type { App } from "./app";
import { bdi, el, section } from "./dom";

const WARNING = "! ";

export function answerSection(app: App): HTMLElement {
  const [first, ...others] = app.data.answer!;
  return section(
    "answer",
    "The answer",
    el("p", { class: "answer" }, sentence(first)),
    el("ul", { class: "glance" }, ...others.map((text) => el("li", {}, sentence(text)))),
  );
}

// A warning has a word, because colour alone is not enough.
function sentence(text: string): HTMLElement {
  if (!text.startsWith(WARNING)) return bdi(text);
  return el("span", { class: "grave" }, el("b", {}, "Look at this: "), bdi(text.slice(WARNING.length)));
}

// Builds elements. Text is always added as text nodes, so data cannot become markup.

type Child = Node | string | null;
type Props = Record<string, string | number | boolean | EventListener>;

// Returns an element with attributes and children. A function under "onNAME" becomes a listener, `true` an
// empty attribute, `false` none.
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

// A name from the data: isolated, so that right-to-left text does not reorder the text around it.
export function bdi(text: string): HTMLElement {
  return el("bdi", {}, text);
}

// Text for screen readers only.
export function unseen(text: string): HTMLElement {
  return el("span", { class: "unseen" }, text);
}

export function button(label: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick, ...props }, label);
}

// A labelled <select>; `change` gets the number of the chosen option.
export function choice(
  label: string,
  options: string[],
  selected: number,
  change: (index: number) => void,
): { element: HTMLLabelElement; select: HTMLSelectElement } {
  const select = el("select", {
    "aria-label": label,
    onchange: () => change(select.selectedIndex),
  });
  options.forEach((text, i) => select.append(el("option", { value: i }, text)));
  select.selectedIndex = selected;
  return { element: el("label", { class: "field" }, el("span", {}, label), select), select };
}

// A section of the page with its heading.
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  const heading = el("h2", { id: `${id}-title` }, title);
  return el("section", { id, "aria-labelledby": `${id}-title` }, heading, ...children);
}

// A box that scrolls sideways by itself, so that the page never does; focusable to scroll by keys.
export function scroller(label: string, child: Node): HTMLElement {
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label }, child);
}

export interface Column<T> {
  title: string;
  text?: boolean; // left-aligned; numbers are right-aligned
  cell: (row: T) => Node | string;
}

// A plain table. The first column names the row.
export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: Iterable<T>,
): HTMLTableElement {
  const head = el("tr");
  for (const c of columns) {
    head.append(el("th", { scope: "col", class: c.text ? "text" : "" }, c.title));
  }
  const body = el("tbody");
  for (const row of rows) {
    const tr = el("tr");
    columns.forEach((c, i) => {
      const cls = c.text ? "text" : "";
      tr.append(
        i === 0
          ? el("th", { scope: "row", class: cls }, c.cell(row))
          : el("td", { class: cls }, c.cell(row)),
      );
    });
    body.append(tr);
  }
  return el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, head), body);
}

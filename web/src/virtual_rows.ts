// A table of any length: only the visible rows are elements. One row has the tab stop; arrow,
// page, Home and End keys move it, Enter opens the row.
import { el } from "./dom";

const ROW_PX = 28; // the value in theme.css
const SPARE = 8; // extra rows beyond each end of the visible ones

export class VirtualRows {
  readonly box: HTMLElement;
  private readonly body = el("tbody");
  private readonly table: HTMLTableElement;
  private rows: Int32Array = new Int32Array(0); // the content of the rows, in order
  private current = 0; // row with the tab stop
  private drawn = { first: -1, last: -1 };

  constructor(
    label: string,
    private readonly head: HTMLElement, // the cells below have its classes
    private readonly cells: (item: number) => (Node | string)[],
    private readonly open: (item: number) => void,
  ) {
    this.table = el(
      "table",
      {},
      el("caption", { class: "unseen" }, label),
      el("thead", {}, head),
      this.body,
    );
    this.box = el(
      "div",
      { class: "virtual", role: "region", "aria-label": label, tabindex: 0 },
      this.table,
    );
    this.box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.body.addEventListener("keydown", (event) => this.press(event));
    this.body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("tr[data-row]");
      if (row) this.open(this.rows[Number(row.dataset.row)]);
    });
  }

  show(rows: Int32Array): void {
    this.rows = rows;
    this.current = 0;
    this.box.scrollTop = 0;
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    this.drawn = { first: -1, last: -1 };
    this.draw();
  }

  private draw(): void {
    const seen = Math.ceil(this.box.clientHeight / ROW_PX);
    const top = Math.floor(this.box.scrollTop / ROW_PX);
    const first = Math.max(0, top - SPARE);
    const last = Math.min(this.rows.length, top + seen + SPARE);
    if (first === this.drawn.first && last === this.drawn.last) return;
    const focused = this.body.contains(document.activeElement);
    this.drawn = { first, last };
    if (this.current < first || this.current >= last)
      this.current = Math.min(this.rows.length - 1, top);
    const rows = [gap(first)];
    for (let i = first; i < last; i++) rows.push(this.row(i));
    rows.push(gap(this.rows.length - last));
    this.body.replaceChildren(...rows);
    if (focused) this.rowElement()?.focus({ preventScroll: true });
  }

  private row(i: number): HTMLElement {
    const row = el("tr", {
      "data-row": i,
      "aria-rowindex": i + 2,
      tabindex: i === this.current ? 0 : -1,
    });
    this.cells(this.rows[i]).forEach((cell, k) =>
      row.append(
        k === 0
          ? el("th", { scope: "row", class: this.class(k) }, cell)
          : el("td", { class: this.class(k) }, cell),
      ),
    );
    return row;
  }

  private class(column: number): string {
    return this.head.children[column].className;
  }

  private rowElement(): HTMLElement | null {
    return this.body.querySelector(`[data-row="${this.current}"]`);
  }

  private press(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      this.open(this.rows[this.current]);
      return;
    }
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_PX) - 2);
    const end = this.rows.length - 1;
    const next = {
      ArrowUp: this.current - 1,
      ArrowDown: this.current + 1,
      PageUp: this.current - page,
      PageDown: this.current + page,
      Home: 0,
      End: end,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.rowElement()?.setAttribute("tabindex", "-1");
    this.current = Math.max(0, Math.min(end, next));
    const top = this.current * ROW_PX;
    const room = this.box.clientHeight - 2 * ROW_PX; // without the fixed head
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top > this.box.scrollTop + room) this.box.scrollTop = top - room;
    this.draw();
    this.rowElement()?.setAttribute("tabindex", "0");
    this.rowElement()?.focus({ preventScroll: true });
  }
}

// The height of the rows that are not elements.
function gap(rows: number): HTMLElement {
  const row = el("tr", { class: "gap", "aria-hidden": "true" });
  row.style.height = `${rows * ROW_PX}px`;
  return row;
}

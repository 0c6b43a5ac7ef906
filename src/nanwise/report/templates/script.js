"use strict";
(() => {
  const root = document.documentElement;
  const remembered = {
    get() { try { return localStorage.getItem("nanwise-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("nanwise-theme", value); } catch { /* a page without storage still turns dark */ } },
  };
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = document.querySelector(".theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const before = remembered.get();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered.set(root.dataset.theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();

  // A cell without a value stays at the end, whichever way the table is sorted.
  const valueOf = (row, index) => {
    const cell = row.cells[index];
    const raw = cell.dataset.value ?? cell.textContent.trim();
    if (raw === "") return null;
    const number = Number(raw);
    return Number.isNaN(number) ? raw.toLowerCase() : number;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b));
  const sort = (head) => {
    const table = head.closest("table");
    const first = head.dataset.first || "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = head.getAttribute("aria-sort") === first ? other : first;
    for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    const body = table.tBodies[0];
    const sign = direction === "ascending" ? 1 : -1;
    const rows = Array.from(body.rows, (row) => ({ row, value: valueOf(row, head.cellIndex) }));
    rows.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return sign * compare(a.value, b.value);
    });
    body.append(...rows.map((entry) => entry.row));
  };
  for (const head of document.querySelectorAll("table.sortable thead th[data-sort]")) {
    const press = document.createElement("button");
    press.type = "button";
    press.append(...head.childNodes);
    press.addEventListener("click", () => sort(head));
    head.append(press);
  }
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();

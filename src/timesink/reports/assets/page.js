"use strict";
// Theme, sortable and filterable tables, copy buttons. No library, no network, no storage.
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("themechange"));
  });

  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v === undefined) return cell.lastElementChild?.textContent ?? cell.textContent;
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  }

  // Unknown values go last whichever way a column is sorted.
  function compare(a, b, down) {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return down ? -order : order;
  }

  function sort(table, column) {
    const heads = [...table.tHead.rows[0].cells];
    const head = heads[column];
    const first = head.classList.contains("text") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach((h) => h.setAttribute("aria-sort", h === head ? direction : "none"));
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
    rows.sort((x, y) => compare(x[0], y[0], direction === "descending"));
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  }

  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    const input = box.querySelector("input");
    const count = box.querySelector(".shown");
    const button = box.querySelector(".all");
    const brief = Number(box.dataset.brief);
    let all = !input;

    const show = () => {
      if (!input) return;
      const wanted = input.value.trim().toLowerCase();
      let hits = 0;
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const hit = !wanted || row.textContent.toLowerCase().includes(wanted);
        if (hit) hits += 1;
        row.hidden = !hit || (!all && hits > brief);
        if (!row.hidden) shown += 1;
      }
      count.textContent = `${shown} of ${hits} ${wanted ? "matching rows" : "rows"}`;
      button.hidden = hits <= brief;
      button.textContent = all ? `Show ${brief}` : `Show all ${hits}`;
    };

    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.firstElementChild.addEventListener("click", () => {
        sort(table, column);
        show();
      });
    });
    table.tBodies[0].addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row && String(getSelection()) === "") row.classList.toggle("open");
    });
    if (input) {
      input.addEventListener("input", show);
      button.addEventListener("click", () => {
        all = !all;
        show();
      });
    }
    show();
  }

  async function copy(node) {
    try {
      await navigator.clipboard.writeText(node.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(node);
      return document.execCommand("copy");
    }
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      button.textContent = (await copy(button.previousElementSibling)) ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }
})();

"use strict";
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.dispatchEvent(new Event("themechange"));
  });
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "copied"; }
      catch { getSelection().selectAllChildren(button.parentElement.querySelector("code")); }
    });
  }
  for (const box of document.querySelectorAll(".table")) {
    const body = box.querySelector("tbody"), rows = [...body.rows];
    const input = box.querySelector("input"), count = box.querySelector(".count");
    const show = () => {
      const wanted = input.value.toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const hit = !wanted || row.textContent.toLowerCase().includes(wanted);
        row.hidden = !hit;
        shown += hit;
      }
      count.textContent = wanted ? `${shown} of ${rows.length}` : `${rows.length} rows`;
    };
    input.addEventListener("input", show);
    show();
    box.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const text = head.classList.contains("text");
        const before = head.getAttribute("aria-sort");
        const up = before ? before === "descending" : text;
        box.querySelectorAll("th").forEach(h => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = row => row.cells[column].dataset.v;
        const order = text ? (a, b) => value(a).localeCompare(value(b)) : (a, b) => value(a) - value(b);
        rows.sort((a, b) => up ? order(a, b) : order(b, a));
        body.append(...rows);
      });
    });
  }
})();

/** Tables of data as tables of Markdown; those that only lay out a page become their cells, one below the other. */

import type { PageElement } from "@mixmark-io/domino";
import type Turndown from "turndown";

export function addTables(service: Turndown): void {
  const headings = new WeakMap<PageElement, PageElement | null>();

  /** The first row of the table of data that the cell, row or table belongs to; null where it is none. */
  function headingOf(node: PageElement): PageElement | null {
    const table = closestTable(node);
    if (table === null) return null;
    const cached = headings.get(table);
    if (cached !== undefined) return cached;
    const heading = findHeading(table);
    headings.set(table, heading);
    return heading;
  }

  const isData = (node: PageElement) => headingOf(node) !== null;
  const block = (content: string) => `\n\n${content.trim()}\n\n`;
  const cell = (content: string) =>
    `${content
      .trim()
      .replace(/\s*\n\s*/g, " ")
      .replaceAll("|", "\\|")} | `;
  const row = (content: string, node: PageElement) => {
    const heading = headingOf(node) === node ? `\n|${" --- |".repeat(countCells(node))}` : "";
    return `\n| ${content.trim()}${heading}\n`;
  };
  // What the package's types say of nodes needs a browser's types.
  const of = (node: unknown) => node as PageElement;
  service.addRule("cell", {
    filter: ["td", "th"],
    replacement: (text, node) => (isData(of(node)) ? cell : block)(text),
  });
  service.addRule("row", {
    filter: "tr",
    replacement: (text, node) => (isData(of(node)) ? row(text, of(node)) : block(text)),
  });
  service.addRule("rows", {
    filter: ["thead", "tbody", "tfoot"],
    replacement: (text, node) => (isData(of(node)) ? `\n${text.trim()}\n` : block(text)),
  });
  service.addRule("table", { filter: "table", replacement: block });
}

/** Null for a table that only lays out a page. */
function findHeading(table: PageElement): PageElement | null {
  if (table.getAttribute("role") === "presentation" || table.getElementsByTagName("table").length > 0) return null;
  const rows = [...table.getElementsByTagName("tr")];
  return rows.length > 1 && rows.some((row) => countCells(row) > 1) ? (rows[0] ?? null) : null;
}

function closestTable(node: PageElement): PageElement | null {
  let current: PageElement | null = node;
  while (current !== null && current.nodeName !== "TABLE") current = current.parentNode;
  return current;
}

function countCells(row: PageElement): number {
  let count = 0;
  for (let child = row.firstElementChild; child !== null; child = child.nextElementSibling) count += 1;
  return count;
}

/** HTML to a document, as browsers parse it. The time that it takes is the page's to decide. */

import domino, { type PageDocument, type PageElement } from "@mixmark-io/domino";

export function parseHtml(html: string): PageDocument {
  const page = domino.createDocument(html, true);
  makeIterable(page);
  return page;
}

/** Collections of domino have an index and a length alone; they change with the document, so that a copy is iterated. */
function makeIterable(page: PageDocument): void {
  const prototype: unknown = Object.getPrototypeOf(page.getElementsByTagName("a"));
  Object.defineProperty(prototype, Symbol.iterator, {
    configurable: true,
    value(this: ArrayLike<PageElement>) {
      return Array.from({ length: this.length }, (_, index) => this[index])[Symbol.iterator]();
    },
  });
}

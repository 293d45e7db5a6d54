/** What is used of domino, which has no types of its own. */
declare module "@mixmark-io/domino" {
  export interface PageElement {
    readonly nodeName: string;
    readonly children: ArrayLike<PageElement>;
    readonly parentNode: PageElement | null;
    readonly firstElementChild: PageElement | null;
    readonly nextElementSibling: PageElement | null;
    readonly textContent: string;
    getAttribute(name: string): string | null;
    setAttribute(name: string, value: string): void;
    removeAttribute(name: string): void;
    remove(): void;
    /** Which of the two it is where there is none depends on the selector. */
    querySelector(selector: string): PageElement | null | undefined;
    querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
    getElementsByTagName(name: string): ArrayLike<PageElement> & Iterable<PageElement>;
  }

  export interface PageDocument extends PageElement {
    readonly title: string;
    readonly body: PageElement | null;
  }

  const domino: { createDocument(html: string, force: boolean): PageDocument };
  export default domino;
}

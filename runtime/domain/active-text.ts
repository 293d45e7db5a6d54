/** What a viewer of a text would load or run: links, pictures, HTML. A stored message may have made a model write some. */

const ACTIVE =
  /\]\(|!\[|<a\s|<\/?(?:img|script|iframe|style|svg|object|embed|link|meta|base|form|input|video|audio|source|html|body)\b/i;

export function holdsActive(text: string): boolean {
  return ACTIVE.test(text);
}

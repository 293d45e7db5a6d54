/** Addresses of web pages as a model, a redirect or a page gives them: which of them are requested at all. Pure. */

/**
 * Ports of other services that take orders as lines of text, which a request could forge. The list of browsers ("bad port"
 * in the Fetch standard).
 */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
const LONGEST = 8_192;

export type WebAddress =
  | { readonly url: URL; readonly refusal?: never }
  | { readonly url?: never; readonly refusal: string };

/** The address without its fragment, or why it is not requested, as the end of a sentence that begins with it. */
export function webAddress(text: string, base?: URL): WebAddress {
  if (text.length > LONGEST) return { refusal: `has more than ${LONGEST} characters` };
  const url = URL.parse(text, base?.href);
  if (url === null) return { refusal: "is no address such as https://example.org/page" };
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return { refusal: "is neither an http:// nor an https:// address" };
  if (url.username !== "" || url.password !== "") return { refusal: "has a user's name or password in it" };
  if (url.port !== "" && BLOCKED_PORTS.has(Number(url.port)))
    return { refusal: `names port ${url.port}, which is not one of web servers` };
  url.hash = "";
  return { url };
}

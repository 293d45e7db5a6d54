/** One page with its redirects. Each address on the way is checked as the first one is, and nothing is carried from one to the next. */

import type { Agent } from "undici";
import { ToolError } from "../../../contracts/errors.ts";
import { type MediaType, mediaType, type PageKind, pageKind } from "../../../domain/web/media-type.ts";
import { retryAfterSeconds } from "../../../domain/web/retry-after.ts";
import { webAddress } from "../../../domain/web/web-address.ts";
import { sendRequest, type WebAnswer } from "../shared/web/request.ts";

export interface FetchedPage {
  /** After the redirects. */
  readonly url: URL;
  readonly kind: PageKind;
  readonly type: MediaType;
  readonly bytes: Uint8Array;
  /** The page is longer than what was read. */
  readonly isCut: boolean;
  /** A redirect has led from https to http: others may have read and changed it. */
  readonly isDowngraded: boolean;
}

const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HEADERS = {
  accept: "text/html, application/xhtml+xml, text/markdown, text/*;q=0.9, application/json;q=0.8, */*;q=0.1",
};
const NAMED: ReadonlySet<string> = new Set([
  "application/pdf",
  "application/zip",
  "application/gzip",
  "image/png",
  "image/jpeg",
]);

/** TOOL_REFUSED for an address that is not requested, also behind a redirect; TOOL_FAILED for an error, and what is no text. */
export async function fetchPage(agent: Agent, start: URL, maxBytes: number, signal: AbortSignal): Promise<FetchedPage> {
  let url = start;
  let isDowngraded = false;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await sendRequest(agent, { url, headers: HEADERS }, signal);
    const location = answer.header("location");
    if (!REDIRECTS.has(answer.status) || location === "") {
      return { url, isDowngraded, ...(await readPage(answer, maxBytes)) };
    }
    if (redirects === MOST_REDIRECTS)
      throw new ToolError("TOOL_FAILED", `The address leads to another one more than ${MOST_REDIRECTS} times.`);
    const next = webAddress(location, url);
    if (next.url === undefined)
      throw new ToolError("TOOL_REFUSED", `The page leads to an address that ${next.refusal}.`);
    answer.discard();
    isDowngraded ||= url.protocol === "https:" && next.url.protocol === "http:";
    url = next.url;
  }
}

async function readPage(answer: WebAnswer, maxBytes: number) {
  const { status } = answer;
  if (status < 200 || status > 299) throw refused(answer);
  const type = mediaType(answer.header("content-type"));
  const refuse = () => new ToolError("TOOL_FAILED", `What the address leads to is no text: ${nameOf(type)}.`);
  if (pageKind(type, new Uint8Array()) === null) throw refuse();
  const { bytes, isCut } = await answer.read(maxBytes);
  const kind = pageKind(type, bytes);
  if (kind === null) throw refuse();
  return { kind, type, bytes, isCut };
}

/** The server's own words are data: of them only what is on a list is said outside of the fence. */
function nameOf({ essence }: MediaType): string {
  if (NAMED.has(essence)) return essence;
  const [kind = ""] = essence.split("/");
  return ["image", "audio", "video", "font"].includes(kind) ? `${kind} data` : "binary data";
}

function refused(answer: WebAnswer): ToolError {
  const { status } = answer;
  const isPassing = status === 429 || status >= 500;
  const retryAfterS = retryAfterSeconds(answer.header("retry-after"));
  return new ToolError(
    isPassing ? "TOOL_UNAVAILABLE" : "TOOL_FAILED",
    `The server answers with the status ${status}.`,
    {
      ...(isPassing && retryAfterS !== undefined ? { retryAfterS, hint: `It asks to wait ${retryAfterS} s.` } : {}),
    },
  );
}

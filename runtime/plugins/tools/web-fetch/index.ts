/** web_fetch: a page of the web as readable text. It reaches public addresses alone, and what the owner allows. */

import { ToolError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { networkPolicy } from "../../../domain/web/network-policy.ts";
import { textPart } from "../../../domain/web/text-part.ts";
import { webAddress } from "../../../domain/web/web-address.ts";
import { webFence, webText } from "../../../domain/web/web-fence.ts";
import { optionalInteger, stringArgument } from "../shared/arguments.ts";
import { webCall } from "../shared/web/call.ts";
import { createHtmlReader, type HtmlReader } from "../shared/web/html.ts";
import type { WebNetwork } from "../shared/web/network.ts";
import { decodePage } from "./decode.ts";
import { type FetchedPage, fetchPage } from "./fetch-page.ts";
import type { Markdown } from "./markdown.ts";

export interface WebFetchSettings {
  /** Hosts by name or address, and ranges, that are reached though they are not public. */
  readonly allowHosts: readonly string[];
  /** Milliseconds for a call: all redirects, and the reading of the page. */
  readonly timeoutMs: number;
  /** Bytes of a page that are read, after decompression. */
  readonly maxBytes: number;
}

export interface WebFetchDeps {
  readonly settings: WebFetchSettings;
  readonly newId: NewId;
  readonly network: WebNetwork;
  readonly html?: HtmlReader;
}

const MAX_CHARS = 30_000;
const MAX_OFFSET = 100_000_000;

export function createWebFetchTool({ settings, newId, network, html = createHtmlReader() }: WebFetchDeps): Tool {
  const { allowHosts: allow, timeoutMs, maxBytes } = settings;
  return {
    name: "web_fetch",
    description:
      "Read a page of the web, given its address: HTML as Markdown, other text as it is. " +
      `At most ${MAX_CHARS} characters at once; the last line tells how to go on when there is more.`,
    parameters: {
      type: "object",
      properties: {
        url: { type: "string", minLength: 1, description: "Address of the page, with http:// or https://." },
        offset: { type: "integer", minimum: 0, description: "Character of the text to begin with; default 0." },
      },
      required: ["url"],
      additionalProperties: false,
    },
    parallel: true,
    async execute(args, signal) {
      const address = webAddress(stringArgument(args, "url"));
      if (address.url === undefined) throw new ToolError("TOOL_INVALID_ARGUMENTS", `The url ${address.refusal}.`);
      const { url } = address;
      const offset = optionalInteger(args, "offset", 0, MAX_OFFSET) ?? 0;
      const policy = networkPolicy({ allow, ownNetworks: network.ownNetworks() });
      const call = { policy, network, timeoutMs, setting: "tools.web_fetch.allow_hosts", signal };
      return webCall(call, async (agent, until) => {
        const page = await fetchPage(agent, url, maxBytes, until);
        const content = render(page, await readText(page, html, until), offset);
        return { content: [webFence(content.text, newId()), ...content.notes].join("\n") };
      });
    },
  };
}

async function readText(page: FetchedPage, html: HtmlReader, signal: AbortSignal): Promise<Markdown> {
  const text = decodePage(page.bytes, page.type, page.kind);
  if (text === null) throw new ToolError("TOOL_FAILED", "What the address leads to is no text: binary data.");
  if (page.kind === "text") return { title: "", text };
  return html.read({ kind: "page", html: text, url: page.url.href }, signal);
}

/** The page's part inside of the fence, and what is said of it outside. */
function render(page: FetchedPage, markdown: Markdown, offset: number) {
  const text = webText(markdown.text);
  if (offset > 0 && offset >= text.length)
    throw new ToolError(
      "TOOL_INVALID_ARGUMENTS",
      `The page has ${text.length} characters; there is none at ${offset}.`,
    );
  const part = textPart(text, offset, MAX_CHARS);
  const title = webText(markdown.title);
  const head = [...(title === "" ? [] : [`Title: ${title}`]), `Address: ${webText(page.url.href)}`];
  const notes = [
    ...(text === "" ? ["(the page has no text)"] : []),
    ...(part.next === null ? [] : [`(${text.length - part.next} more characters; go on with offset ${part.next})`]),
    ...(page.isCut ? [`(the page is longer: only its first ${page.bytes.byteLength} bytes were read)`] : []),
    ...(page.isDowngraded ? ["(a redirect led from https to http: others may have changed the page)"] : []),
  ];
  return { text: [...head, "", part.text].join("\n"), notes };
}

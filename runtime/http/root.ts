/** `GET /`: what stands here, for somebody who has opened the address in a browser. It tells nothing that a stranger may not know. */

import type { Server } from "./deps.ts";

const LINES: readonly (readonly [string, string])[] = [
  ["/v1", "base URL for OpenAI's clients, with a token as the key"],
  ["/mcp", "the memory, for clients of the Model Context Protocol"],
  ["/openapi.json", "every route"],
  ["/health/ready", "whether the node takes messages"],
];
const FIRST = "This is a Cairn node. It has no pages: programs talk to it.";
const LAST = "In a terminal `cairn chat` talks to an agent, and `cairn status` shows how the node is.";

const TEXT = [FIRST, "", ...LINES.map(([path, what]) => `${path.padEnd(14)} ${what}`), "", LAST, ""].join("\n");
const HTML = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Cairn</title></head>
<body>
<p>${FIRST}</p>
<dl>
${LINES.map(([path, what]) => `<dt><code>${path}</code></dt><dd>${what}</dd>`).join("\n")}
</dl>
<p>${LAST.replace(/`([^`]+)`/g, "<code>$1</code>")}</p>
</body>
</html>
`;

export function registerRoot(server: Server): void {
  server.get("/", { config: { access: "public" }, schema: { hide: true } }, (request, reply) => {
    const isBrowser = request.headers.accept?.includes("text/html") ?? false;
    return reply
      .header("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
      .type(isBrowser ? "text/html; charset=utf-8" : "text/plain; charset=utf-8")
      .serializer((text: string) => text)
      .send(isBrowser ? HTML : TEXT);
  });
}

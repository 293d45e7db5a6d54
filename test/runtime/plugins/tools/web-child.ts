/** `web_fetch` in a process of its own, with the machine's network: `node web-child.ts URL [ALLOWED_HOST]` prints the result. */

import { createSystemNetwork } from "../../../../runtime/plugins/tools/index.ts";
import { createWebFetchTool } from "../../../../runtime/plugins/tools/web-fetch/index.ts";
import { call } from "./support.ts";

const [url = "", ...allowHosts] = process.argv.slice(2);
const settings = { allowHosts, timeoutMs: 30_000, maxBytes: 1_000_000 };
const network = createSystemNetwork();
const { content } = await call(
  createWebFetchTool({ settings, network, newId: () => "mark" }),
  { workspace: "/" },
  { url },
);
process.stdout.write(content);

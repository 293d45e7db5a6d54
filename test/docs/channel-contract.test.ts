/** The page for those who write a channel names whatever a channel may have, or may be given. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

it("docs/channel-plugins.md names each optional member of the contract", async () => {
  const contract = await readFile(join(ROOT, "runtime/contracts/channel.ts"), "utf8");
  const page = await readFile(join(ROOT, "docs/channel-plugins.md"), "utf8");
  const optional = [...contract.matchAll(/^ {2,4}(?:readonly )?(\w+)\?[(:]/gm)].map(([, name]) => name);
  expect(optional).toEqual(expect.arrayContaining(["state", "onRepeat", "overflowIds", "notice"]));
  const named = new Set([...page.matchAll(/`(\w+)(?:\([^`\n]*\))?`/g)].map(([, name]) => name));
  expect(optional.filter((name) => !named.has(name))).toEqual([]);
});

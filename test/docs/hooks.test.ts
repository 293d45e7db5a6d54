/** The table of events on the page about hooks says what the code says. */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { HOOK_EVENTS } from "../../runtime/contracts/hooks.ts";

it("docs/hooks.md has each event with its policy, and what a failure stops", async () => {
  const page = await readFile(new URL("../../docs/hooks.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => /^\| `\w+:\w+` \| [A-Z]/.test(line));
  expect(rows).toEqual(
    Object.entries(HOOK_EVENTS).map(
      ([event, { description, policy, stops }]) => `| \`${event}\` | ${description} | ${policy} | ${stops ?? ""} |`,
    ),
  );
});

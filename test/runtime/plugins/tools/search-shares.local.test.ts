/** A search that several threads share finds what one finds single, in the same order and up to the same limit. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { SearchTask } from "../../../../runtime/plugins/tools/shared/search/messages.ts";
import { search } from "../../../../runtime/plugins/tools/shared/search/search.ts";
import { mergeShares } from "../../../../runtime/plugins/tools/shared/search/shares.ts";
import { createPlace } from "./support.ts";

const TASK = {
  kind: "lines",
  pattern: { source: "needle", ignoreCase: false, literal: "needle" },
  deadlineMs: 60_000,
} as const;

it("is the same in one share and in several", async () => {
  await using place = await createPlace();
  const names = ["a", "a.b", "a-b", "B", "c/a", "c/b/d", "c/b.x", "c-d/e", "z/y/x/w", "z/a"];
  for (const [index, name] of names.entries()) {
    const path = place.path(...`${name}.txt`.split("/"));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `first\n${"needle\nother\n".repeat(index % 4)}last\n`);
  }
  const scope = { root: place.workspace, components: [], isFile: false, all: false, protectedPaths: [] };
  const single = (task: SearchTask) => search(task, { index: 0, of: 1 }, () => 0);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 0, max: 2 }),
      fc.boolean(),
      (limit, of, context, filesOnly) => {
        const task: SearchTask = { ...TASK, scope, limit, context, filesOnly };
        const shares = Array.from({ length: of }, (_, index) => search(task, { index, of }, () => 0));
        expect(mergeShares(shares, limit)).toEqual(single(task));
      },
    ),
    { numRuns: 300 },
  );
});

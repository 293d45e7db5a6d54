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

it.each(["files", "lines"] as const)("of %s ends with its time, also among files that no glob names", async (kind) => {
  await using place = await createPlace();
  for (const folder of ["a", "b", "c", "d"]) {
    await mkdir(place.path(folder));
    for (let n = 0; n < 20; n += 1) await writeFile(place.path(folder, `${n}.txt`), "needle\n");
    await writeFile(place.path(folder, "0.ts"), "needle\n");
  }
  const scope = { root: place.workspace, components: [], isFile: false, all: false, protectedPaths: [], glob: "*.ts" };
  const more = { scope, limit: 10, context: 0, filesOnly: true };
  const within = (deadlineMs: number) => {
    let ms = 0;
    return search({ ...TASK, ...more, kind, deadlineMs }, { index: 0, of: 1 }, () => ms++);
  };
  const found = ({ files }: ReturnType<typeof search>) => files.map(({ components }) => components.join("/"));
  const partial = within(50);
  expect([found(partial).sort(), partial.cut]).toEqual([["a/0.ts", "b/0.ts", "c/0.ts"], "time"]);
  const whole = within(1_000);
  expect([found(whole), whole.cut]).toEqual([expect.objectContaining({ length: 4 }), null]);
});

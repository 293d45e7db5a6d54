/** Every driver has the same files, so that a reader of one finds the way in the others. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const DRIVERS = join(import.meta.dirname, "../../../../control/deploy/drivers");
const SAME = ["connect.ts", "driver.ts", "images.ts", "observe.ts", "preflight.ts", "reconcile.ts"];

describe("drivers", async () => {
  const entries = await readdir(DRIVERS, { withFileTypes: true });
  const targets = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);

  it("there is one for each target", () => {
    expect(targets.sort()).toEqual(["docker", "kubernetes", "proxmox"]);
  });

  it.each(targets)("%s has the six files, and what only it needs in one folder", async (target) => {
    const inside = await readdir(join(DRIVERS, target), { withFileTypes: true });
    const names = (kind: "file" | "folder"): string[] =>
      inside
        .filter((entry) => entry.isFile() === (kind === "file"))
        .map(({ name }) => name)
        .sort();
    expect(names("file")).toEqual(SAME);
    expect(names("folder")).toHaveLength(1);
  });
});

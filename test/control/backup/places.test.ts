/** What is in the way of a restore at the place where it would go. */

import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ofPlaces, placesOf } from "../../../control/backup/restore/places.ts";
import { lacks } from "../../lanes/tools.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

// Permissions are none to root, which may mount a disk that nobody can write to.
describe.skipIf(lacks("root"))("a disk that cannot be written to", () => {
  it("is in the way, however deep the directory would be in it", async () => {
    const disk = join(await temporaryDirectory(), "disk");
    await mkdir(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", disk]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", disk]));
    const dir = join(disk, "deep", "cairn");
    expect(await ofPlaces(placesOf({ dir, home: join(dir, ".cairn") }))).toEqual([
      {
        message: `${disk} cannot be written to (EROFS).`,
        hint: "Name another directory with --dir, or correct its permissions.",
      },
    ]);
  });
});

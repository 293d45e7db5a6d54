/** The disk of the deployment directory full, before `up` and in the middle of a change, on the real engines: said, and finished with room. */

import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type TypedStack, typedStack } from "../support/docker/typed-stack.ts";

const UP = ["infra", "up", "--yes"];

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command", "root"))(
  "a full disk of the operator",
  () => {
    it("is named before anything is made, and the same command ends well once there is room", {
      timeout: IMAGES_TIMEOUT_MS,
    }, async () => {
      const stack = await typedStack(["a"]);
      const { cairn, refused } = stack;
      const filler = join(smallDisk(stack), "filler");
      fill(filler);
      expect(await refused(...UP)).toMatchObject({ code: "INFRA_DISK_FULL" });
      await stack.expectRemoved([]);
      rmSync(filler);
      expect(await cairn(...UP)).toMatchObject({ healthy: true });
      await stack.keepRows();
      await stack.expectWhole(["a"]);
    });

    it("is named in the middle of a change, and with room unlock and the same command end well", {
      timeout: IMAGES_TIMEOUT_MS,
    }, async () => {
      const stack = await typedStack(["a"]);
      const { cairn, document, meanwhile } = stack;
      const filler = join(smallDisk(stack), "filler");
      await cairn(...UP);
      await stack.keepRows();
      await stack.write(60);
      const error = await meanwhile(`"state":"done"`, () => fill(filler), ...UP);
      expect(error).toMatchObject({ ok: false, error: { code: "INFRA_DISK_FULL" } });
      rmSync(filler);
      // The engine's last write of its state may have been cut off: the copy of before the change takes its place.
      const again = await document<{ readonly error?: { readonly code: string } }>(...UP);
      if (again.error !== undefined) {
        expect(again.error.code).toBe("INFRA_STATE_UNREADABLE");
        await cairn("infra", "unlock", "--restore-state");
      }
      expect(await cairn(...UP)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a"]);
      expect(await cairn("infra", "preview")).toMatchObject({ changes: [], drift: [] });
    });
  },
);

/** `infra/` on a disk of its own, of a few megabytes, with what was in it. */
function smallDisk({ dir }: TypedStack): string {
  const infra = join(dir, "infra");
  const before = join(dir, "before");
  cpSync(infra, before, { recursive: true });
  mkdirSync(infra, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", infra]);
  onTestFinished(() => void execFileSync("umount", ["--lazy", infra]));
  cpSync(before, infra, { recursive: true });
  return infra;
}

function fill(file: string): void {
  try {
    for (;;) appendFileSync(file, Buffer.alloc(65_536));
  } catch {
    // The last page of it, too: a small file fits where a large block does not.
    try {
      for (;;) appendFileSync(file, Buffer.alloc(512));
    } catch {
      // Full.
    }
  }
}

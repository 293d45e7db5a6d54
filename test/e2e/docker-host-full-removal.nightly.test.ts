/** The disk of the Docker host full while a node or the stack is removed: said, or done without room, and finished with it. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { stackOnHost } from "../support/docker/stack-on-host.ts";
import { emptyDisk, fillDisk } from "../support/faults/full-disk.ts";

const phase = (name: string) => `"phase":"${name}"`;
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;
const DISK_MIB = 4_096;

const UP = ["infra", "up", "--yes"];
const DESTROY = ["infra", "destroy", "--yes"];

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

describe.skipIf(lacks("docker", "docker-images", "docker-twice", "pulumi-docker", "pulumi-command"))(
  "a full disk of the host that a stack is removed from",
  () => {
    it("lets go what is removed, or says what it lacks, and with room the same command ends: no row is lost, nothing is left", {
      timeout: LONG_MS,
    }, async () => {
      const { stack, engine } = await stackOnHost(["a", "b"], { diskMiB: DISK_MIB });
      await stack.cairn(...UP);
      await stack.keepRows();
      /** Full before it, or as soon as it has said this. What needs no room is done at once. */
      const doneWithRoom = async (event: string | null, command: readonly string[]): Promise<void> => {
        if (event === null) fillDisk(engine.disk, 0);
        const answer = await (event === null
          ? stack.document<Partial<Failure>>(...command)
          : stack.meanwhile<Partial<Failure>>(event, () => fillDisk(engine.disk, 0), ...command));
        emptyDisk(engine.disk);
        if (answer.error === undefined) return;
        expect(answer.error, `${command.join(" ")} at ${event}`).toMatchObject({ code: "INFRA_DISK_FULL" });
        await stack.cairn(...command);
      };
      const remove = ["infra", "node", "remove", "b", "--yes", "--confirm", "b", "--data"];
      await stack.enter(["--node", "b", "--", "sh", "-c", "echo kept > /srv/cairn/kept"]);
      await doneWithRoom(phase("archive"), [...remove, "archive"]);
      await stack.expectWhole(["a"]);
      const [archive = "", ...more] = await archivesIn(stack.dir);
      expect(more).toEqual([]);
      const { stdout } = await execa("tar", ["-xzOf", archive, `./${stack.name}-b-workspace/kept`]);
      expect(stdout).toBe("kept");

      await stack.write(50);
      await stack.cairn(...UP);
      await doneWithRoom(null, [...remove, "delete"]);
      await stack.expectWhole(["a"]);

      await doneWithRoom(null, DESTROY);
      await stack.expectRemoved(["a"]);
      await stack.cairn(...UP, "--adopt");
      await stack.expectWhole(["a"]);

      await doneWithRoom(phase("backup"), [...DESTROY, "--delete-data", "--confirm", stack.name]);
      await stack.expectRemoved([]);
    });
  },
);

async function archivesIn(dir: string): Promise<string[]> {
  const folder = join(dir, "backups");
  return (await readdir(folder)).filter((name) => name.includes(".tar.gz")).map((name) => join(folder, name));
}

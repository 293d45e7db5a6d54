/** The disk of the Docker host full, before `up`, in the middle of it, of a change and of `up --roll`: said, and finished with room. */

import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { stackOnHost } from "../support/docker/stack-on-host.ts";
import { emptyDisk, fillDisk } from "../support/faults/full-disk.ts";

const phase = (name: string) => `"phase":"${name}"`;
const step = (op: string, state: string) => `"op":"${op}","state":"${state}"`;
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;
const DISK_MIB = 4_096;
const MIB = 1024 ** 2;

const UP = ["infra", "up", "--yes"];
const ROLL = ["infra", "up", "--roll", "--yes"];

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

describe.skipIf(lacks("docker", "docker-images", "docker-twice", "pulumi-docker", "pulumi-command"))(
  "a full disk of the host",
  () => {
    it("is named, and with room the same command finishes: no row is lost, nothing is left over", {
      timeout: LONG_MS,
    }, async () => {
      const { stack, engine } = await stackOnHost(["a", "b"], { diskMiB: DISK_MIB });
      const fullAt = async (event: string, command: readonly string[]): Promise<void> => {
        const answer = await stack.meanwhile<Failure>(event, () => fillDisk(engine.disk, 0), ...command);
        emptyDisk(engine.disk);
        expect(answer, `${command.join(" ")} at ${event}`).toMatchObject({ error: { code: "INFRA_DISK_FULL" } });
      };
      // Before anything is made.
      fillDisk(engine.disk, 500 * MIB);
      expect(await stack.refused(...UP)).toMatchObject({ code: "INFRA_DISK_FULL" });
      await stack.expectRemoved([]);
      emptyDisk(engine.disk);

      await fullAt(phase("up"), UP);
      expect(await stack.cairn(...UP)).toMatchObject({ healthy: true });
      await stack.keepRows();
      await stack.expectWhole(["a", "b"]);

      await stack.write(60);
      await fullAt(step("delete-replaced", "done"), ROLL);
      expect(await stack.cairn(...ROLL)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a", "b"]);

      await stack.write(61);
      await fullAt(phase("node"), ROLL);
      expect(await stack.cairn(...ROLL)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a", "b"]);
      expect(await stack.cairn("infra", "preview")).toMatchObject({ changes: [], drift: [] });
    });
  },
);

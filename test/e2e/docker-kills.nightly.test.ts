/** `kill -9` of `up` and of `destroy` at every kind of event that it tells of, on the real engines: the same command finishes it. */

import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { typedStack } from "../support/docker/typed-stack.ts";

interface Health {
  readonly healthy: boolean;
}

const phase = (name: string) => `"phase":"${name}"`;
const step = (op: string, state: string) => `"op":"${op}","state":"${state}"`;
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;
const EVENTS = ["--yes", "--json-events"];

const UP = [
  ...["preflight", "inspect", "preview", "up"].map(phase),
  ...[step("create", "started"), step("create", "done")],
  phase("settle"),
];
const DESTROY = [phase("preview"), phase("destroy"), step("delete", "started"), step("delete", "done")];
describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))(
  "up or destroy that is killed",
  () => {
    it("is finished by the same command, no row is lost and nothing is left over", { timeout: LONG_MS }, async () => {
      const stack = await typedStack(["a"]);
      const { killedAt, cairn, noteVolumes } = stack;
      const up = ["infra", "up", "--yes"];
      const destroy = ["infra", "destroy", "--yes"];
      const upKilledAt = async (event: string): Promise<void> => {
        await killedAt(event, "infra", "up", ...EVENTS);
        await noteVolumes();
        expect(await cairn<Health>(...up), event).toMatchObject({ healthy: true });
      };
      // From nothing, where volumes and the settings of the stack are made as well.
      await upKilledAt(step("create", "done"));
      await stack.keepRows();
      await stack.expectWhole(["a"]);

      for (let at = 0; at < Math.max(UP.length, DESTROY.length); at += 1) {
        const event = DESTROY[at];
        if (event === undefined) await cairn(...destroy);
        else {
          await killedAt(event, "infra", "destroy", ...EVENTS);
          await noteVolumes();
          await cairn(...destroy);
        }
        await stack.expectRemoved(["a"]);
        const other = UP[at];
        if (other === undefined) await cairn(...up);
        else await upKilledAt(other);
        await stack.expectWhole(["a"]);
      }
    });
  },
);

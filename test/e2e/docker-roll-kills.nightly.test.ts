/** `kill -9` of `up --roll` and of `node remove` at every kind of event that it tells of, on the real engines: the same command finishes it. */

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

const ROLL = [
  ...["preflight", "inspect", "preview", "node"].map(phase),
  ...["delete-replaced", "create-replacement"].flatMap((op) => [step(op, "started"), step(op, "done")]),
  phase("gate"),
];
const REMOVE = [phase("destroy"), step("delete", "started"), step("delete", "done")];

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))(
  "up --roll or node remove that is killed",
  () => {
    it("is finished by the same command: each node has the change, no row is lost and nothing is left over", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await typedStack(["a", "b"]);
      const { killedAt, cairn, noteVolumes, name } = stack;
      await cairn("infra", "up", "--yes");
      await stack.keepRows();
      for (const [at, event] of ROLL.entries()) {
        await stack.write(60 + at);
        await killedAt(event, "infra", "up", "--roll", ...EVENTS);
        await noteVolumes();
        expect(await cairn<Health>("infra", "up", "--roll", "--yes"), event).toMatchObject({ healthy: true });
        await stack.expectWhole(["a", "b"]);
        for (const node of ["a", "b"]) {
          const { stdout } = await stack.enter(["--node", node, "--", "cat", "/etc/cairn/cairn.yaml"]);
          expect(stdout, `${event}: ${name}-${node}`).toContain(`max_tool_iterations: ${60 + at}`);
        }
      }
      for (const event of REMOVE) {
        await killedAt(event, "infra", "node", "remove", "b", ...EVENTS);
        await noteVolumes();
        await cairn("infra", "node", "remove", "b", "--yes");
        await stack.expectWhole(["a"], ["a", "b"]);
        // The next time, over the data that it left.
        await stack.write(50);
        await cairn("infra", "up", "--yes", "--adopt");
        await stack.expectWhole(["a", "b"]);
      }
    });
  },
);

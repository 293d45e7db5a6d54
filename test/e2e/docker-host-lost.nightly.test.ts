/** The Docker host that goes down in the middle of `up`, `up --roll` and `destroy`, with all that runs on it: said, and finished after its start. */

import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type HostedStack, stackOnHost } from "../support/docker/stack-on-host.ts";

const phase = (name: string) => `"phase":"${name}"`;
const step = (op: string, state: string) => `"op":"${op}","state":"${state}"`;
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;

const UP = ["infra", "up", "--yes"];
const ROLL = ["infra", "up", "--roll", "--yes"];
const DESTROY = ["infra", "destroy", "--yes"];

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

describe.skipIf(lacks("docker", "docker-images", "docker-twice", "pulumi-docker", "pulumi-command"))(
  "a host that goes down",
  () => {
    it("is said, and after its start the same command finishes: no row is lost, nothing is left over", {
      timeout: LONG_MS,
    }, async () => {
      const hosted = await stackOnHost(["a", "b"]);
      const { stack } = hosted;
      // From nothing.
      await cutAt(hosted, step("create", "done"), UP);
      expect(await stack.cairn(...UP)).toMatchObject({ healthy: true });
      await stack.keepRows();
      await stack.expectWhole(["a", "b"]);

      for (const [at, event] of [step("create-replacement", "started"), phase("gate")].entries()) {
        await stack.write(60 + at);
        await cutAt(hosted, event, ROLL);
        expect(await stack.cairn(...ROLL), event).toMatchObject({ healthy: true });
        await stack.expectWhole(["a", "b"]);
      }

      await cutAt(hosted, step("delete", "started"), DESTROY);
      await stack.cairn(...DESTROY);
      await stack.expectRemoved(["a", "b"]);
      await cutAt(hosted, phase("settle"), UP);
      expect(await stack.cairn(...UP)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a", "b"]);
    });
  },
);

/** The command's error, after the host is there again. */
async function cutAt({ stack, engine }: HostedStack, event: string, command: readonly string[]): Promise<void> {
  const answer = await stack.meanwhile<Failure>(event, () => engine.cut(), ...command);
  await engine.start();
  expect(answer, `${command.join(" ")} at ${event}`).toMatchObject({ error: { code: "INFRA_HOST_UNREACHABLE" } });
}

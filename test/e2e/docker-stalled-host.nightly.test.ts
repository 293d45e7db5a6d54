/** A Docker host over SSH that accepts connections and is silent, before a command and in its middle: said in bounded time, then finished. */

import { delimiter } from "node:path";
import process from "node:process";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { typedStack } from "../support/docker/typed-stack.ts";
import { startStalledProxy } from "../support/ssh/stalled-proxy.ts";

const step = (op: string, state: string) => `"op":"${op}","state":"${state}"`;
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;

const UP = ["infra", "up", "--yes"];
const ROLL = ["infra", "up", "--roll", "--yes"];
const DESTROY = ["infra", "destroy", "--yes"];

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

/** Its first sentence is of the host, without a script, a stack trace or a provider's positions. */
const SAID = { code: "INFRA_HOST_UNREACHABLE", message: expect.stringMatching(/127\.0\.0\.1.*(?:reached|answer)/) };

describe.skipIf(lacks("docker", "docker-images", "sshd", "pulumi-docker", "pulumi-command"))(
  "a host that is silent",
  () => {
    it("is said by every command of infra, and each works when it speaks again", { timeout: LONG_MS }, async () => {
      const proxy = await startStalledProxy();
      onTestFinished(() => proxy.stop());
      vi.stubEnv("PATH", `${proxy.programs}${delimiter}${process.env.PATH}`);
      const stack = await typedStack(["a", "b"], { host: proxy.url });
      const { cairn, document, name, refused } = stack;

      proxy.silence();
      for (const command of [["infra", "preview"], UP]) expect(await refused(...command)).toMatchObject(SAID);
      proxy.speak();
      await cairn(...UP);
      await stack.keepRows();
      await stack.expectWhole(["a", "b"]);

      proxy.silence();
      const commands = [
        ["infra", "preview"],
        UP,
        ROLL,
        ["infra", "node", "rename", "b", "c", "--yes"],
        DESTROY,
        ["infra", "node", "remove", "b", "--yes"],
        ["infra", "postgres", "upgrade", "--to", "cairn-test/postgres:18", "--yes"],
        // The last, since it puts the state aside.
        ["infra", "recover", "--confirm", name],
      ];
      expect(await document("infra", "status")).toMatchObject({
        healthy: false,
        nodes: [{ state: "unknown" }, { state: "unknown" }],
      });
      await document("infra", "unlock");
      for (const command of commands) {
        const said = await refused(...command);
        expect(said, command.join(" ")).toMatchObject(SAID);
      }
      proxy.speak();
      expect(await cairn("infra", "recover", "--confirm", name)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a", "b"]);
    });

    it("is said in the middle of a change, and the same command finishes it", { timeout: LONG_MS }, async () => {
      const proxy = await startStalledProxy();
      onTestFinished(() => proxy.stop());
      vi.stubEnv("PATH", `${proxy.programs}${delimiter}${process.env.PATH}`);
      const stack = await typedStack(["a", "b"], { host: proxy.url });
      const stalledAt = async (event: string, command: readonly string[]): Promise<void> => {
        const { error } = await stack.meanwhile<Failure>(event, () => proxy.silence(), ...command);
        proxy.speak();
        expect(error, `${command.join(" ")} at ${event}`).toMatchObject(SAID);
      };
      await stalledAt(step("create", "done"), UP);
      expect(await stack.cairn(...UP)).toMatchObject({ healthy: true });
      await stack.keepRows();
      await stack.write(60);
      await stalledAt(step("create-replacement", "started"), ROLL);
      expect(await stack.cairn(...ROLL)).toMatchObject({ healthy: true });
      await stack.expectWhole(["a", "b"]);
      await stalledAt(step("delete", "started"), DESTROY);
      await stack.cairn(...DESTROY);
      await stack.expectRemoved(["a", "b"]);
      await stack.cairn(...UP);
      await stack.expectWhole(["a", "b"]);
    });
  },
);

/** Who else wants the same stack, its name or its port, on the real engines: refused before anything is changed. */

import { once } from "node:events";
import { cp, mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { docker, runContainer } from "../support/docker/containers.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { testImages } from "../support/docker/names.ts";
import { typedStack } from "../support/docker/typed-stack.ts";
import { operator } from "../support/operator.ts";
import { freePort } from "../support/ports.ts";

const UP = ["infra", "up", "--yes"];

interface Holder {
  readonly holder: { readonly pid: number; readonly command: string } | null;
}

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("somebody else at a stack", () => {
  it("a port in use, a second operator, a second directory: each is refused, and the stack is as it was", {
    timeout: IMAGES_TIMEOUT_MS,
  }, async () => {
    const stack = await typedStack(["a"]);
    const { cairn, document, meanwhile, refused, name, ports } = stack;
    const [port = 0] = ports;

    // Another program, then another container, which can be named.
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    for (const command of [["infra", "preview"], UP])
      expect(await refused(...command)).toMatchObject({ code: "INFRA_PORT_IN_USE" });
    server.close();
    await once(server, "close");
    const publish = ["--publish", `127.0.0.1:${port}:80`, "--entrypoint", "sleep"];
    const other = await runContainer("--name", `other-${name}`, ...publish, testImages().node, "3600");
    for (const command of [["infra", "preview"], UP]) {
      const { code, message } = await refused(...command);
      expect({ code, message }).toEqual({
        code: "INFRA_PORT_IN_USE",
        message: expect.stringContaining(`other-${name}`),
      });
    }
    await docker("rm", "--force", other);
    await stack.expectRemoved([]);

    // While the first is at work, the second gets its name, and cannot unlock it.
    let codes: readonly string[] = [];
    let seen: Holder | undefined;
    const first = await meanwhile<{ healthy: boolean }>(
      `"phase":"up"`,
      async () => {
        const others = [UP, ["infra", "destroy", "--yes"], ["infra", "unlock"]];
        const [held, ...errors] = await Promise.all([
          document<Holder>("infra", "status"),
          ...others.map((command) => refused(...command)),
        ]);
        seen = held;
        codes = errors.map(({ code }) => code);
      },
      ...UP,
    );
    expect(codes).toEqual(["INFRA_LOCKED", "INFRA_LOCKED", "INFRA_LOCKED"]);
    expect(seen?.holder).toMatchObject({ command: "up", pid: expect.any(Number) });
    expect(first).toMatchObject({ healthy: true });
    await stack.keepRows();
    await stack.expectWhole(["a"]);

    // The same name from another directory, also where its data are asked for.
    const containers = await stack.ids();
    const second = await operator("cairn_test-token-of-another-directory");
    await stack.writeFor(second, await freePort());
    await mkdir(join(second.dir, "infra"));
    await cp(join(stack.dir, "infra", "release.json"), join(second.dir, "infra", "release.json"));
    for (const command of [UP, [...UP, "--adopt"]])
      expect(await second.refused(...command)).toMatchObject({ code: "INFRA_DATA_EXISTS" });
    expect(await stack.ids()).toEqual(containers);
    await stack.expectWhole(["a"]);
    expect(await cairn("infra", "preview")).toMatchObject({ changes: [], drift: [] });
  });
});

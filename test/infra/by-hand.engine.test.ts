/** `pulumi` by hand with the program that was built, on a real engine: the host's SDK is the project's, and the program has none else. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { renderProject } from "../../infra/render.ts";
import { pathWithEngine } from "../lanes/pulumi/engine.ts";
import { lacks } from "../lanes/tools.ts";
import { temporaryDirectory } from "../support/deployment.ts";
import { imageOf, projectDirectory } from "../support/infra/project.ts";
import { TLS_PEM } from "../support/postgres-tls.ts";

const HOST = fileURLToPath(new URL("../support/infra/by-hand-host.mjs", import.meta.url));

describe.skipIf(lacks("pulumi-docker", "pulumi-command"))("the rendered project with the built program", () => {
  it("plans the stack", async () => {
    const dir = await projectDirectory(
      `version: 1
agents: { main: {} }
providers: { offline: {} }
deployment: { target: docker, name: fleet, datahub: { postgres: true }, nodes: [{ name: one }] }
`,
      { files: { "infra/release.json": JSON.stringify({ schema: 1, built: imageOf("a"), nodes: {} }) } },
    );
    await renderProject({ dir, stack: "fleet" });
    const state = await temporaryDirectory();
    await mkdir(join(state, "state"));
    const { stdout } = await execa(process.execPath, [HOST, "fleet", `file://${join(state, "state")}`], {
      cwd: join(dir, "infra"),
      env: { PATH: pathWithEngine(), TLS: TLS_PEM },
    });
    expect(JSON.parse(stdout)).toEqual(expect.arrayContaining(["fleet-one", "fleet-postgres", "fleet-postgres-data"]));
  });
});

/** A stack on the real Docker engine, deployed by the operations of `infra`: PostgreSQL, and nodes that the stand-in image plays. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput, Services } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { type UpOptions, up } from "../../../control/deploy/operations/up.ts";
import { type PreviewResult, SCHEMAS, type StatusResult, type UpResult } from "../../../control/deploy/schemas.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { docker, removeStack, standInImage, uniqueName } from "../docker-lane.ts";
import { freePort } from "../ports.ts";
import { ensureTestImages } from "./images.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export interface OperatedStack {
  readonly name: string;
  readonly dir: string;
  /** What an operation is called with. */
  run(): OperationInput;
  up(options?: Partial<UpOptions>, services?: Partial<Services>): Promise<UpResult>;
  preview(): Promise<PreviewResult>;
  status(): Promise<StatusResult>;
  /** Text of a statement's rows. */
  sql(text: string): Promise<string>;
  /** What `docker inspect` shows of all that the stack is made of, but for times, health and addresses that change by themselves. */
  snapshot(): Promise<string>;
  remove(): Promise<void>;
}

/** Not deployed yet. */
export async function prepareOperatedStack(nodes: readonly string[]): Promise<OperatedStack> {
  const name = uniqueName("cairn-sees");
  const images = await ensureTestImages();
  const id = await standInImage(images.node);
  const dir = await mkdtemp(join(tmpdir(), "cairn-operated-"));
  const ports = await Promise.all(nodes.map(() => freePort()));
  const agents = nodes.map((node) => [`agent-${node}`, { provider: "offline", node }]);
  const config = {
    version: 1,
    runtime: { default_agent: `agent-${nodes[0]}` },
    agents: Object.fromEntries(agents),
    providers: { offline: { kind: "offline" } },
    memory: { postgres: {} },
    deployment: {
      name,
      target: "docker",
      nodes: nodes.map((node, index) => ({ name: node, port: ports[index], memory: "256Mi" })),
      docker: { network: name },
      datahub: { postgres: true, image: images.postgres },
    },
  };
  await mkdir(join(dir, "infra"));
  await writeFile(join(dir, "cairn.yaml"), stringify(config));
  await writeFile(join(dir, ".env"), "SERVICE_API_TOKEN=cairn_test-token-of-an-operated-stack\n", { mode: 0o600 });
  const built = { id, digest: null, reference: "stand-in", version: "0.1.0", revision: null };
  await writeFile(join(dir, "infra", "release.json"), JSON.stringify({ schema: 1, built, nodes: {} }));
  const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
  const run = (services: Partial<Services> = {}): OperationInput => ({
    dir,
    services: { ...defaultServices({ deployment, root: ROOT, prompts: null }), ...services },
    onEvent: () => undefined,
    signal: new AbortController().signal,
    killSignal: new AbortController().signal,
  });
  const label = `label=cairn.stack=${name}`;
  return {
    name,
    dir,
    run,
    up: async (options, services) =>
      SCHEMAS["infra-up"].parse(
        await up(run(services), { node: undefined, image: undefined, adopt: false, yes: true, ...options }),
      ),
    preview: async () => SCHEMAS["infra-preview"].parse(await preview(run())),
    status: async () => SCHEMAS["infra-status"].parse(await status(run())),
    sql: (text) =>
      docker(
        "exec",
        `${name}-postgres`,
        "psql",
        "-U",
        "postgres",
        "-d",
        "cairn",
        "-v",
        "ON_ERROR_STOP=1",
        "-Atc",
        text,
      ),
    snapshot: async () => {
      const list = async (kind: string, ...more: string[]) =>
        (await docker(kind, "ls", ...more, "--filter", label, "--format", kind === "volume" ? "{{.Name}}" : "{{.ID}}"))
          .split("\n")
          .sort();
      const containers = (await list("container", "--all")).map((one) =>
        docker("inspect", "--format", "{{.Id}} {{.Name}} {{.State.Status}} {{json .HostConfig}}", one),
      );
      return [...(await Promise.all(containers)), ...(await list("network")), ...(await list("volume"))].join("\n");
    },
    remove: async () => {
      await removeStack(name);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

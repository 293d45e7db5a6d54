/** A stack on the stand-in Proxmox host, its directory as an operator has it, and the operations as the commands call them. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import type { OperationInput, Services } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { type ProxmoxTestHost, startProxmox } from "./host.ts";
import { makeImage, type TestImage } from "./image.ts";
import { openRoad, type Road } from "./road.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export interface OperatedProxmox {
  readonly host: ProxmoxTestHost;
  /** All SSH goes over it. */
  readonly road: Road;
  readonly dir: string;
  /** What the nodes run. */
  readonly image: TestImage;
  /** Writes cairn.yaml; `memory` of each node. */
  configure(nodes: readonly string[], memory?: string): void;
  run(services?: Partial<Services>): OperationInput;
  /** What one node has written since its data are there: `start 1`, `graceful`. */
  starts(node: string): Promise<readonly string[]>;
  /** `docker` in this machine's PATH: it has `image` and these. */
  engine(...images: Parameters<ProxmoxTestHost["engineWith"]>): string;
  stop(): Promise<void>;
}

export async function operatedProxmox(): Promise<OperatedProxmox> {
  const host = await startProxmox();
  const road = await openRoad(host.ssh.port);
  const dir = mkdtempSync(join(tmpdir(), "cairn-operated-"));
  const image = makeImage(dir, join(host.template, "bin", "busybox"), "1");
  await mkdir(join(dir, "infra"));
  const release = { schema: 1, built: image.identity, nodes: {} };
  writeFileSync(join(dir, "infra", "release.json"), JSON.stringify(release));
  const words = ["SERVICE_API_TOKEN=owner-token-0123456789", "SERVICE_PG_URL=postgres://nobody@127.0.0.1:1/none", ""];
  writeFileSync(join(dir, ".env"), words.join("\n"), { mode: 0o600 });
  const { gateway, bridge, template, storage, dataDir } = host.plan();
  const { ssh } = host;
  const run = (services: Partial<Services> = {}): OperationInput => {
    const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
    return {
      dir,
      services: {
        ...defaultServices({ deployment, root: ROOT, prompts: null }),
        // The image that plays the node has no API: its health is what is tested.
        nodes: {
          call: () => Promise.reject(new Error("no node is called here")),
          gate: async () => {
            if (!(await status(run())).healthy) throw new Error("it is not healthy");
          },
          pause: async () => undefined,
          resume: async () => undefined,
        },
        ...services,
      },
      onEvent: () => undefined,
      signal: new AbortController().signal,
      killSignal: new AbortController().signal,
    };
  };
  return {
    host,
    road,
    dir,
    image,
    run,
    configure: (nodes, memory = "256Mi") => {
      const deployment = {
        name: "fleet",
        target: "proxmox",
        stop_timeout: "100s",
        nodes: nodes.map((name, index) => ({
          name,
          memory,
          address: `${gateway?.replace(/\.1$/, "")}.${11 + index}/24`,
        })),
        proxmox: {
          host: ssh.host,
          port: road.port,
          user: ssh.user,
          host_key: ssh.hostKey,
          identity_file: ssh.identityFile,
          template,
          storage,
          disk: "8Gi",
          bridge,
          gateway,
          data_dir: dataDir,
          vmid_start: 699,
        },
      };
      const memoryOf = { postgres: { connection_string: "${SERVICE_PG_URL}" } };
      const rest = { version: 1, agents: { main: {} }, providers: { offline: {} }, memory: memoryOf };
      writeFileSync(join(dir, "cairn.yaml"), stringify({ ...rest, deployment }));
    },
    starts: async (node) => {
      const text = await readFile(join(dataDir, "fleet", node, "home", "starts"), "utf8");
      return text.trim().split("\n");
    },
    engine: (...images) => host.engineWith(image, ...images),
    stop: async () => {
      await road.close();
      await host.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * A stack with a real PostgreSQL on the stand-in Proxmox host, and the operations as the commands call them, but for the plan, which
 * no cairn.yaml is read for. The node is played; steps of an upgrade can be made to fail.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { DatabaseServers } from "../../../control/deploy/driver.ts";
import { createProxmoxDriver } from "../../../control/deploy/drivers/proxmox/driver.ts";
import type { DatabaseSettings } from "../../../control/deploy/node-settings.ts";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import { upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { directoryData } from "../../../infra/plan/names.ts";
import type { ProxmoxNodePlan, ProxmoxPlan } from "../../../infra/plan/types.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { ensureNextPostgres, ensureTestImages } from "../docker/images.ts";
import { type ProxmoxTestHost, startProxmox } from "./host.ts";
import { makeImage, type TestImage } from "./image.ts";
import { openRoad, type Road } from "./road.ts";
import { SECRETS } from "./stack.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const TABLE = "SELECT n, md5(n::text), array[n, n + 0.5]::vector(2) AS vec FROM generate_series(1, 5000) AS n";
/** What a step that is made to fail says. */
export const WANTED = "as the test wants it";

type Step = keyof DatabaseServers | "setDatabase";

export interface ProxmoxDatabase {
  readonly host: ProxmoxTestHost;
  /** All SSH goes over it. */
  readonly road: Road;
  readonly dir: string;
  /** Image of PostgreSQL 18; the stack has 17. */
  readonly next: string;
  readonly run: () => OperationInput;
  readonly up: () => ReturnType<typeof up>;
  /** To the next major. */
  readonly upgrade: () => ReturnType<typeof upgradePostgres>;
  /** Steps that fail after they were done, until the next call. */
  failing(...steps: readonly Step[]): void;
  /** Called with each event of the operations, until the next call. */
  watch(listener: OperationInput["onEvent"]): void;
  image(): string | undefined;
  setImage(image: string | undefined): void;
  /** Another node beside `one`, with its number and the end of its address. */
  addNode(name: string, vmid: number, address: number): void;
  /** In PostgreSQL's CT. */
  inside(...command: string[]): string;
  /** As PostgreSQL's superuser. */
  sql(text: string): string;
  /** Path below the stack's directory of the host. */
  data(...below: string[]): string;
  /** What the node has written at its starts. */
  starts(node?: string): readonly string[];
  stop(): Promise<void>;
}

/** Deployed, healthy, with the table `kept`. `diskMiB`: see `startProxmox`. */
export async function proxmoxDatabase(options: { readonly diskMiB?: number } = {}): Promise<ProxmoxDatabase> {
  const { postgres } = await ensureTestImages();
  const next = await ensureNextPostgres();
  const host = await startProxmox(options);
  const road = await openRoad(host.ssh.port);
  const dir = mkdtempSync(join(tmpdir(), "cairn-pve-pg-"));
  const node = makeImage(dir, join(host.template, "bin", "busybox"), "1");
  const path = process.env["PATH"] ?? "";
  let steps: readonly Step[] = [];
  let watcher: OperationInput["onEvent"] = () => undefined;
  let plan = planOn(host, road, postgres, node);
  const network = plan.nodes[0]?.address.replace(/\.\d+\/24$/, "") ?? "";

  const wrapped = (servers: DatabaseServers): DatabaseServers => {
    const changed = { ...servers };
    for (const step of steps) {
      if (step === "setDatabase") continue;
      // Whatever the step is called with, it is called with that.
      const act = servers[step] as (...args: unknown[]) => unknown;
      const failing = async (...args: unknown[]): Promise<never> => {
        await act(...args);
        throw new Error(WANTED);
      };
      Object.assign(changed, { [step]: failing });
    }
    return changed;
  };
  const withDatabase = (change: { readonly image: string; readonly data?: string }): void => {
    plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, ...change } };
  };
  const run = (): OperationInput => {
    const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
    const real = defaultServices({ deployment, root: ROOT, prompts: null });
    return {
      dir,
      services: {
        ...real,
        backup: async () => "backups/none",
        // The image that plays the node has no API.
        nodes: {
          call: () => Promise.reject(new Error("no node is called here")),
          gate: async () => undefined,
          pause: async () => undefined,
          resume: async () => undefined,
        },
        configuration: {
          ...real.configuration,
          setDatabase: async ({ image, data }: DatabaseSettings) => {
            withDatabase({ image, data: directoryData(plan.stack, data.value) });
            if (steps.includes("setDatabase")) throw new Error(WANTED);
          },
        },
        async createDriver(project) {
          const driver = await real.createDriver(project);
          return driver.database === undefined ? driver : { ...driver, database: wrapped(driver.database) };
        },
        async readProject() {
          const nodes = plan.nodes.map((one) => ({ ...one, image: node.identity }));
          const read = { dir, secrets: SECRETS, certificate: null, warnings: [], redactValues: [] };
          return { ...read, plan: { ...plan, nodes } };
        },
      },
      onEvent: (event) => watcher(event),
      signal: new AbortController().signal,
      killSignal: new AbortController().signal,
    };
  };
  const inside = (...command: string[]): string => host.pct("exec", "699", "--", ...command);
  const sql = (text: string): string => {
    const psql = ["psql", "-XqAt", "-U", "postgres", "-d", "cairn", "-v", "ON_ERROR_STOP=1", "-c", text];
    return inside("docker", "exec", "fleet-postgres", ...psql).trim();
  };
  const data = (...below: string[]): string => join(host.dataDir, "fleet", ...below);
  const stop = async (): Promise<void> => {
    process.env["PATH"] = path;
    await road.close();
    await host.stop();
    rmSync(dir, { recursive: true, force: true });
  };

  try {
    // The played engine has the node's image, the real one those of PostgreSQL.
    process.env["PATH"] = `${host.engineWith(node)}:${path}`;
    const { signal } = new AbortController();
    await createProxmoxDriver(plan).deliverImage(node.identity, host.ssh.host, () => undefined, signal);
    process.env["PATH"] = path;
    await up(run(), UP);
    sql(`SET ROLE cairn; CREATE TABLE kept AS ${TABLE}; CREATE INDEX ON kept USING hnsw (vec vector_l2_ops)`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    host,
    road,
    dir,
    next,
    run,
    up: () => up(run(), UP),
    upgrade: () => upgradePostgres(run(), { image: next, yes: true }),
    failing: (...next) => {
      steps = next;
    },
    watch: (listener) => {
      watcher = listener;
    },
    image: () => plan.postgres?.image,
    setImage: (image) => withDatabase({ image: image ?? "" }),
    addNode: (name, vmid, address) => {
      const [one] = plan.nodes;
      const added = { ...one, name, vmid, address: `${network}.${address}/24` } as ProxmoxNodePlan; // `one` is always there.
      plan = { ...plan, nodes: [...plan.nodes, added] };
    },
    inside,
    sql,
    data,
    starts: (name = "one") =>
      readFileSync(data(name, "home", "starts"), "utf8")
        .trim()
        .split("\n"),
    stop,
  };
}

function planOn(host: ProxmoxTestHost, road: Road, image: string, node: TestImage): ProxmoxPlan {
  const bare = host.plan({}, { image: node.identity });
  const network = bare.nodes[0]?.address.replace(/\.\d+\/24$/, "") ?? "";
  return {
    ...bare,
    ssh: { ...bare.ssh, port: road.port },
    postgres: { image, limits: { memoryBytes: 512 * 1024 ** 2, cpus: null }, publish: null },
    postgresVmid: 699,
    postgresAddress: `${network}.10/24`,
  };
}

/** Kills in the middle of `up` on Proxmox, and PostgreSQL in a CT of its own: slow, and for real but for `pct`. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "dotenv";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProxmoxDriver } from "../../../control/deploy/drivers/proxmox/driver.ts";
import { POSTGRES, type ProxmoxPlan } from "../../../infra/plan/types.ts";
import { pinnedCertificate } from "../../../infra/postgres/configuration.ts";
import { POSTGRES_PASSWORD, POSTGRES_TLS } from "../../../infra/program.ts";
import { lacks } from "../../lanes/tools.ts";
import { testImages } from "../../support/docker/names.ts";
import { realTls } from "../../support/postgres-server-tls.ts";
import { type ProxmoxTestHost, startProxmox } from "../../support/proxmox/host.ts";
import { makeImage, type TestImage } from "../../support/proxmox/image.ts";
import { openStack } from "../../support/proxmox/stack.ts";

const signal = new AbortController().signal;
const DEADLINE_MS = 300_000;
/** PostgreSQL 17 with pgvector, in this machine's engine, for the test that needs a real one. */
const POSTGRES_IMAGE = testImages().postgres;

/** Over TLS all the same: psql knows nothing of `uselibpqcompat`, and where it runs there is no file with the authority. */
function forPsql(url: string): string {
  const address = new URL(url);
  address.searchParams.delete("uselibpqcompat");
  address.searchParams.delete("sslrootcert");
  address.searchParams.set("sslmode", "require");
  return address.href;
}

describe.skipIf(lacks("lxc", "pulumi-command"))("Proxmox", () => {
  let host: ProxmoxTestHost;
  let image: TestImage;
  let folder: string;
  let plan: ProxmoxPlan;
  const path = process.env.PATH ?? "";

  beforeEach(async () => {
    host = await startProxmox();
    folder = mkdtempSync(join(tmpdir(), "cairn-stack-"));
    image = makeImage(folder, join(host.template, "bin", "busybox"), "1");
    plan = host.plan({}, { image: image.identity });
    process.env.PATH = `${host.engineWith(image)}:${path}`;
    const driver = createProxmoxDriver(plan);
    await driver.deliverImage(image.identity, host.ssh.host, () => {}, signal);
  }, DEADLINE_MS);
  afterEach(async () => {
    process.env.PATH = path;
    await host?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, DEADLINE_MS);

  const starts = (): string[] =>
    readFileSync(join(host.dataDir, "fleet", "one", "home", "starts"), "utf8")
      .trim()
      .split("\n");

  it(
    "finishes with the next up what a killed one left, while its command is still at work on the host",
    async () => {
      writeFileSync(join(host.state, "slow-create"), "5");
      const file = join(folder, "plan.json");
      writeFileSync(file, JSON.stringify(plan));
      const program = join(import.meta.dirname, "../../support/proxmox/up-child.ts");
      // A group of its own: the engine and its plugins are killed with it.
      const child = spawn(process.execPath, [program, folder, file], { detached: true, stdio: "ignore" });
      const ended = once(child, "exit");
      await expect.poll(() => existsSync(join(host.state, "creating"))).toBe(true);
      process.kill(-(child.pid ?? 0), "SIGKILL");
      await ended;
      rmSync(join(host.state, "slow-create"));
      const stack = await openStack(folder, plan);
      await stack.cancel();
      expect((await stack.up()).summary.result).toBe("succeeded");
      const healthy = [{ state: "running", health: "healthy" }];
      await expect.poll(() => createProxmoxDriver(plan).observe(signal)).toMatchObject(healthy);
      expect(readFileSync(join(host.state, "calls"), "utf8").match(/^pct create/gm)).toHaveLength(1);
      await expect.poll(starts).toEqual(["start 1"]);
    },
    DEADLINE_MS,
  );

  it(
    "makes a CT anew whose creation broke off with the host",
    async () => {
      writeFileSync(join(host.state, "die-in-create"), "");
      const stack = await openStack(folder, plan);
      await expect(stack.up()).rejects.toThrow();
      expect(host.pct("config", "700")).toBe("lock: create\n");
      expect((await stack.up()).summary.result).toBe("succeeded");
      await expect.poll(starts).toEqual(["start 1"]);
    },
    DEADLINE_MS,
  );

  it(
    "replaces CT and container together when the kind of CT changes, and keeps what the node wrote",
    async () => {
      await (await openStack(folder, plan)).up();
      const moved = { ...plan, nodes: plan.nodes.map((node) => ({ ...node, vmid: 711 })) };
      const { summary } = await (await openStack(folder, moved)).up();
      expect(summary.resourceChanges).toMatchObject({ replace: 4 });
      expect(() => host.pct("config", "700")).toThrow();
      await expect.poll(starts).toEqual(["start 1", "graceful", "start 1"]);
    },
    DEADLINE_MS,
  );

  it.skipIf(lacks("docker-images"))(
    "lets nodes into PostgreSQL in its own CT with the password, and nobody else",
    async () => {
      const [node] = plan.nodes;
      const network = node?.address.replace(/\.\d+\/24$/, "") ?? "";
      const whole: ProxmoxPlan = {
        ...plan,
        postgres: { image: POSTGRES_IMAGE, limits: { memoryBytes: null, cpus: null }, publish: null },
        postgresVmid: 699,
        postgresAddress: `${network}.10/24`,
        nodes: plan.nodes.map((one) => ({ ...one, secretVariables: [...one.secretVariables, "SERVICE_PG_URL"] })),
      };
      process.env.PATH = path;
      await createProxmoxDriver(whole).deliverImage(POSTGRES_IMAGE, host.ssh.host, () => {}, signal);
      const stack = await openStack(folder, whole);
      await stack.setConfig(POSTGRES_PASSWORD, { value: "pass'word", secret: true });
      const tls = await realTls();
      await stack.setConfig(POSTGRES_TLS, { value: tls, secret: true });
      expect((await stack.up()).summary.result).toBe("succeeded");
      const seen = readFileSync(join(host.dataDir, "fleet", "one", "home", "seen.env"), "utf8");
      const url = parse(seen)[POSTGRES.variable] ?? "";
      expect(url).toContain(`@${network}.10:5432/cairn`);
      const ask = (from: readonly string[], address: string): string =>
        spawnSync(from[0] ?? "", [...from.slice(1), "psql", address, "-Atc", "SELECT 40 + 2"], { encoding: "utf8" })
          .stderr;
      // From this machine, which is on the bridge and is no node.
      // The engine does not wait until it listens.
      await expect
        .poll(() => ask(["docker", "run", "--rm", "--network", "host", POSTGRES_IMAGE], forPsql(url)), {
          timeout: 60_000,
        })
        .toContain("no pg_hba.conf entry");
      // From the node's own address.
      const name = `${readFileSync(join(host.state, "prefix"), "utf8")}700`;
      const pid = execFileSync("lxc-info", ["-P", join(host.state, "ct"), "-n", name, "-pH"], {
        encoding: "utf8",
      }).trim();
      const query = `import pg from "pg"; const client = new pg.Client(process.argv[1]); await client.connect();
      console.log((await client.query("SELECT 40 + 2 AS sum")).rows[0].sum); await client.end();`;
      const pinned = join(folder, "pinned.pem");
      writeFileSync(pinned, pinnedCertificate(tls));
      const address = url.replace(encodeURIComponent(POSTGRES.certificate), encodeURIComponent(pinned));
      expect(address).not.toBe(url);
      const node24 = [process.execPath, "--input-type=module", "-e", query, address];
      expect(execFileSync("nsenter", [`--net=/proc/${pid}/ns/net`, ...node24], { encoding: "utf8" }).trim()).toBe("42");
      const inside = host.pct(
        "exec",
        "699",
        "--",
        "docker",
        "exec",
        "fleet-postgres",
        "psql",
        forPsql(url).replace(`${network}.10`, "127.0.0.1"),
        "-Atc",
        "SELECT 40 + 2",
      );
      expect(inside.trim()).toBe("42");
    },
    DEADLINE_MS,
  );
});

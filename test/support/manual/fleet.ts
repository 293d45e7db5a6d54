/**
 * Nodes as `cairn init` and `cairn service install` leave them on machines of an operator's own: each with a program, a home and a unit,
 * behind a real sshd, over one PostgreSQL. The machines are one, and `systemctl` is played (systemctl.mjs).
 */

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, onTestFinished } from "vitest";
import { ROOT } from "../../../scripts/lib/paths.js";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { temporaryDirectory } from "../deployment.ts";
import { freePort } from "../ports.ts";
import { databaseUrl, deploymentOf } from "../running-node.ts";
import { type SshServer, startSshd } from "../ssh/sshd.ts";

const SYSTEMCTL = fileURLToPath(new URL("./systemctl.mjs", import.meta.url));
/** What a package has, as it is installed. */
const PARTS = ["bin", "dist", "migrations", "templates", "docs/schemas", "oclif.manifest.json", "package.json"];

export interface ManualNodeFixture {
  readonly name: string;
  readonly url: string;
  /** Directory of the program. */
  readonly root: string;
  readonly dir: string;
  readonly home: string;
  readonly unit: string;
}

export interface ManualFleetFixture {
  readonly nodes: readonly ManualNodeFixture[];
  readonly ssh: SshServer;
  /** Of the database that they share. */
  readonly database: string;
  /** cairn.yaml of an operator; `hostKey`: another one than the server's. */
  configuration(hostKey?: string): object;
  /** Version of the program that each runs, and its process. */
  running(): Promise<readonly { readonly version: string; readonly pid: number }[]>;
}

/** `telegram`: a bot that they all have. */
export async function manualFleet(
  names: readonly string[],
  telegram?: { readonly url: string; readonly token: string },
): Promise<ManualFleetFixture> {
  const database = await databaseUrl();
  const machine = await temporaryDirectory();
  const bin = join(machine, "bin");
  await mkdir(bin);
  await symlink(SYSTEMCTL, join(bin, "systemctl"));
  const environment = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}`,
    XDG_CONFIG_HOME: join(machine, "config"),
    XDG_STATE_HOME: join(machine, "state"),
  };
  const ssh = await startSshd({ environment });
  onTestFinished(() => ssh.stop());
  const nodes: ManualNodeFixture[] = [];
  for (const name of names) {
    const port = await freePort();
    const { dir, home } = await deploymentOf({
      config: {
        runtime: { listen: `127.0.0.1:${port}` },
        providers: { offline: {} },
        agents: { main: { provider: "offline" } },
        mesh: { name },
        memory: { postgres: { connection_string: database } },
        ...(telegram === undefined
          ? {}
          : { channels: { telegram: { token: "${BOT_TOKEN}", owner_id: 1, base_url: telegram.url } } }),
      },
      ...(telegram === undefined ? {} : { env: { BOT_TOKEN: telegram.token } }),
    });
    const root = join(await temporaryDirectory(), "cairn");
    await install(root);
    const unit = `cairn-${name}`;
    const env = { ...environment, HOME: dir, SERVICE_HOME: home };
    const words = [join(root, "bin", "cairn.js"), "service", "install", "--user", "--name", unit, "--dir", dir];
    await execa(process.execPath, words, { env });
    const url = `http://127.0.0.1:${port}`;
    onTestFinished(async () => {
      const text = await readFile(join(home, "run", "node.json"), "utf8").catch(() => null);
      if (text !== null) kill(JSON.parse(text).pid);
    });
    const ready = async () => (await fetch(`${url}/health/ready`).catch(() => null))?.ok;
    await expect.poll(ready, { timeout: EVENTUALLY_MS, interval: 200 }).toBe(true);
    nodes.push({ name, url, root, dir, home, unit });
  }
  return {
    nodes,
    ssh,
    database,
    configuration: (hostKey = ssh.hostKey) => ({
      version: 1,
      agents: { main: {} },
      providers: { offline: {} },
      memory: { postgres: { connection_string: database } },
      deployment: {
        nodes: nodes.map(({ name, unit }) => ({
          name,
          host: ssh.host,
          port: ssh.port,
          user: ssh.user,
          host_key: hostKey,
          identity_file: ssh.identityFile,
          unit,
        })),
      },
    }),
    running: () =>
      Promise.all(nodes.map(async ({ home }) => JSON.parse(await readFile(join(home, "run", "node.json"), "utf8")))),
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The built program, with the packages of this checkout. */
async function install(root: string, manifest: object = {}): Promise<void> {
  for (const part of PARTS) await cp(join(ROOT, part), join(root, part), { recursive: true, dereference: true });
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await writeFile(join(root, "package.json"), JSON.stringify({ ...own, ...manifest }));
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
}

/** What `npm pack` would write of another version, packages included. `broken`: it ends at its start. */
export async function packed(version: string, { broken = false } = {}): Promise<string> {
  const folder = await temporaryDirectory();
  const program = join(folder, "package");
  await install(program, { version });
  if (broken) await writeFile(join(program, "dist/runtime/main.js"), 'throw new Error("this build does not start");\n');
  const archive = join(folder, `cairn-${version}.tgz`);
  await execa("tar", ["-czf", archive, "-C", folder, "package"]);
  const sum = createHash("sha256")
    .update(await readFile(archive))
    .digest("hex");
  await writeFile(`${archive}.sha256`, `${sum}  cairn-${version}.tgz\n`);
  return archive;
}

/** A stack on the real Docker engine is backed up, lost with its data and its operator's directory, and brought back. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BackupResult } from "../../control/backup/backup.ts";
import { stagingOf } from "../../control/backup/restore/places.ts";
import type { RestoreResult } from "../../control/backup/restore/restore.ts";
import { lacks } from "../lanes/tools.ts";
import { CAIRN } from "../support/commands.ts";
import { temporaryDirectory } from "../support/deployment.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type TypedStack, typedStack } from "../support/docker/typed-stack.ts";
import { docker } from "../support/docker-lane.ts";

const NODES = ["ada", "bob"] as const;
const FACT = "The spare key hangs behind the fuse box.";
const PICTURE = Buffer.alloc(300_000, "a picture of the fuse box");
/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("a stack on Docker", () => {
  it("comes back from a backup, with everything, after it was lost with its data", { timeout: LONG_MS }, async () => {
    const stack = await typedStack(NODES);
    const { dir, name, cairn } = stack;
    const around = await temporaryDirectory();
    const file = join(around, "stack.tar.age");
    const passphrase = join(around, "passphrase");
    await writeFile(passphrase, "correct horse battery staple\n", { mode: 0o600 });
    const sealed = ["--passphrase-file", passphrase];

    await cairn("infra", "up", "--yes");
    await fill(stack);
    const before = await everything(stack);
    expect(before).toContain("Kept by bob.");

    await halfDown(stack, ["backup", file, ...sealed], around);
    await killedBackup(stack, ["backup", file, ...sealed], around);
    expect(await cairn<BackupResult>("backup", file, ...sealed)).toMatchObject({ outcome: "written", nodes: NODES });
    expect(await cairn("backup", "--verify", file, ...sealed)).toMatchObject({ outcome: "verified", nodes: NODES });
    expect(await everything(stack)).toBe(before);

    await cairn("infra", "destroy", "--delete-data", "--confirm", name, "--yes");
    await stack.expectRemoved([]);
    await rename(dir, join(around, "lost"));

    const restore = ["restore", file, ...sealed];
    expect(await typed<RestoreResult>(dir, [...restore, "--check"])).toMatchObject({ outcome: "possible" });
    await killedAsSoonAs(dir, restore, async () => (await namesIn(stagingOf(dir))).includes("filled"));
    expect(await namesIn(dir)).toEqual([]);
    expect(await typed<RestoreResult>(dir, [...restore, "--check"])).toMatchObject({ outcome: "possible" });
    const { stdout } = await run(dir, restore);
    expect(await namesIn(dirname(dir))).not.toContain(stagingOf(dir));

    // As it is printed, from a shell; the program is another word where no `cairn` is on the path.
    const commands = [...stdout.matchAll(/^ {2}`(\S*cairn(?:\.js)? .*)`$/gm)].map(([, command = ""]) => command);
    expect(commands).toHaveLength(2 + NODES.length);
    for (const command of commands) {
      const yes = command.includes("infra up") ? " --yes" : "";
      const words = command.replace(/^\S+/, `${process.execPath} ${CAIRN}`);
      await execa("sh", ["-c", `${words}${yes}`], { cwd: "/", env: environmentOf(dir), stdin: "ignore" });
    }
    expect(await everything(stack)).toBe(before);
    await cairn("infra", "up", "--yes");
    expect(await stack.say("Where does the spare key hang?")).toContain("fuse box");
  });
});

const environmentOf = (dir: string) => ({ SERVICE_HOME: join(dir, "home"), SERVICE_API_TOKEN: "" });
const namesIn = (path: string): Promise<string[]> => readdir(path).catch((): string[] => []);

/** The directory is not there while it is restored. */
function run(dir: string, args: readonly string[]) {
  return execa(process.execPath, [CAIRN, ...args, "--dir", dir], {
    cwd: "/",
    env: environmentOf(dir),
    stdin: "ignore",
  });
}

async function typed<T>(dir: string, args: readonly string[]): Promise<T> {
  return JSON.parse((await run(dir, [...args, "--json"])).stdout);
}

/** A conversation, an attachment through the second node, a token, and files that agents have written. */
async function fill({ say, cairn, enter, ports, dir }: TypedStack): Promise<void> {
  await say(`Remember: ${FACT}`);
  const { token } = await cairn<{ token: string }>("token", "create", "phone", "--scope", "agent");
  const data = PICTURE.toString("base64");
  const response = await fetch(`http://127.0.0.1:${ports[1]}/api/agents/main/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      session: "s",
      text: "Look.",
      attachments: [{ name: "a.png", media_type: "image/png", data }],
    }),
  });
  expect(response.status, await response.text()).toBe(200);
  await writeFile(join(dir, "token"), token);
  for (const node of NODES) {
    const write = `echo "Kept by ${node}." > /srv/cairn/workspace/kept.md && chmod 640 /srv/cairn/workspace/kept.md`;
    expect(await enter(["--node", node, "--", "sh", "-c", write])).toMatchObject({ code: 0 });
  }
}

/** Rows, attachments, keys, files with their modes, and who may come in, as one text. */
async function everything({ name, enter }: TypedStack): Promise<string> {
  const rows = ["conversations", "messages", "attachments", "inbox", "api_tokens"].map(
    (table) => `select '${table}', count(*), md5(string_agg(md5(t::text), '' order by md5(t::text))) from ${table} t`,
  );
  const sql = rows.join(" union all ").replace("from api_tokens t", "from (select id, name, hash from api_tokens) t");
  const found = [await docker("exec", `${name}-postgres`, "psql", ..."-U postgres -d cairn -Atc".split(" "), sql)];
  for (const node of NODES) {
    const script =
      "cd / && stat -c '%n %a %u' var/lib/cairn srv/cairn/workspace/* && sha256sum var/lib/cairn/node.key && cat srv/cairn/workspace/*";
    found.push((await enter(["--node", node, "--", "sh", "-c", script])).stdout);
  }
  return found.join("\n");
}

/** A node that is down, then the database: each is named, and no file is written. */
async function halfDown({ name, refused, document }: TypedStack, backup: readonly string[], around: string) {
  for (const [part, code, help] of [
    ["bob", "INFRA_FAILED", "cairn infra up"],
    ["postgres", "MEMORY_UNAVAILABLE", ""],
  ] as const) {
    await docker("stop", `${name}-${part}`);
    const error = await refused(...backup);
    expect(error).toMatchObject({ code });
    expect(error.hint ?? "").toContain(help);
    await docker("start", `${name}-${part}`);
    await expect.poll(() => document("infra", "status"), { timeout: 120_000 }).toMatchObject({ healthy: true });
  }
  expect(await namesIn(around)).toEqual(["passphrase"]);
}

/** Where it reads the memory, the nodes' files, and where it writes: what is there is whole, and nothing else stays. */
async function killedBackup({ dir }: TypedStack, backup: readonly string[], around: string): Promise<void> {
  const work = join(dir, "home", "run", "backup");
  for (const isThere of [
    async () => (await namesIn(work)).length > 0,
    async () => (await namesIn(join(work, "nodes"))).length > 0,
    async () => (await namesIn(around)).some((one) => one.endsWith(".partial")),
  ]) {
    await killedAsSoonAs(dir, backup, isThere);
    expect((await namesIn(around)).filter((one) => !one.endsWith(".partial"))).toEqual(["passphrase"]);
  }
}

async function killedAsSoonAs(dir: string, args: readonly string[], isThere: () => Promise<boolean>): Promise<void> {
  const child = spawn(process.execPath, [CAIRN, ...args, "--dir", dir], {
    cwd: "/",
    env: { ...process.env, ...environmentOf(dir) },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  while (child.exitCode === null && !(await isThere())) await new Promise(setImmediate);
  expect(child.exitCode).toBeNull();
  child.kill("SIGKILL");
  await ended;
}

import { writeFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Dialog, unattended } from "../../../control/wizard/dialog.ts";
import { type InitOptions, initialize } from "../../../control/wizard/init.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { bareEnvironment, temporaryDirectory } from "../../support/deployment.ts";

const CONFIG = `# Mine.
version: 1
runtime:
  listen: \${MY_ADDRESS}   # from the environment
  default_agent: nova
  timezone: Europe/Berlin
  colour: blue # nobody knows this key
agents:
  # The one who answers.
  nova:
    provider: openai
    default_thinking: low
    tools: { exclude: [shell] }
  iris: { provider: offline }
providers:
  openai:
    model: gpt-5.5
    api_key: op://vault/openai/key
    temperature: 0.2
  offline: {}
channels:
  telegram:
    token: \${TELEGRAM_TOKEN}
    owner_id: 12
    reconnect: { max_retries: 3 }
  voice: { enabled: false }
memory:
  postgres:
    connection_string: \${SERVICE_PG_URL}
    pool: 4
deployment:
  target: docker
  nodes:
    - { name: one, port: 7500 } # the first
    - name: two
      memory: 1Gi
  datahub: { postgres: true }
`;

async function existing(text = CONFIG): Promise<string> {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, "cairn.yaml"), text, { mode: 0o640 });
  await writeFile(join(dir, ".env"), "SERVICE_API_TOKEN=t\n", { mode: 0o600 });
  return dir;
}

test.each([
  ["mesh: { enabled: true }", "https"],
  ["mesh: { enabled: true }\nruntime: { tls: off }", "http"],
  ["runtime: { tls: auto }", "https"],
  ["runtime: {}", "http"],
])("says where the node answers: with %s by %s", async (text, scheme) => {
  const dir = await existing(`version: 1\nproviders: { offline: {} }\nagents: { a: { provider: offline } }\n${text}\n`);
  expect((await change(dir, { timezone: "UTC" })).url).toBe(`${scheme}://127.0.0.1:7433`);
});

function change(dir: string, flags: Readonly<Record<string, unknown>>, options: Partial<InitOptions> = {}) {
  return initialize({
    directories: { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml") },
    env: bareEnvironment({ PATH: "/nonexistent" }),
    localServers: [],
    purpose: "change",
    flags,
    ...options,
  });
}

const read = (dir: string): Promise<string> => readFile(join(dir, "cairn.yaml"), "utf8");

/** Lines of `after` that `before` has not, and the other way round. */
function difference(before: string, after: string): { added: string[]; removed: string[] } {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return { added: now.filter((line) => !old.includes(line)), removed: old.filter((line) => !now.includes(line)) };
}

describe("a configuration that is there", () => {
  test("names the way to take the memory along when its backend changes, and only then", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "cairn.yaml"), "version: 1\nagents: { main: {} }\nproviders: { offline: {} }\n");
    const timezone = await change(dir, { timezone: "UTC" });
    expect(timezone.notes.join()).not.toContain("stays in");
    const there = await change(dir, { memory: "postgres" });
    expect(there.notes.join()).toMatch(/stays in the embedded store, .*`cairn memory move postgres`/);
    const back = await change(dir, { memory: "embedded" });
    expect(back.notes.join()).toMatch(/stays in PostgreSQL, .*`cairn memory move embedded`/);

    const elsewhere =
      "version: 1\nagents: { main: {} }\nproviders: { offline: {} }\nmemory: { embedded: { path: ./mine } }\n";
    await writeFile(join(dir, "cairn.yaml"), elsewhere);
    const ownPath = await change(dir, { memory: "postgres" });
    expect(ownPath.notes.join()).toMatch(/at \.\/mine, .*in place of this change/);
  });

  test("says that a local model server is not reached from containers, also where its address is the usual one", async () => {
    const dir = await temporaryDirectory();
    const ollama =
      "version: 1\nagents: { main: { provider: ollama } }\nproviders: { ollama: { kind: ollama, model: qwen3 } }\n";
    await writeFile(join(dir, "cairn.yaml"), ollama);
    expect((await change(dir, { timezone: "UTC" })).notes.join()).not.toContain("leads a node");
    const moved = await change(dir, { target: "docker" });
    expect(moved.notes.join()).toContain("A node that runs on this machine goes on until `cairn stop`.");
    expect(moved.notes.join()).toContain("http://127.0.0.1:11434 leads a node in a container to itself");
  });

  test("stays as it is where nothing is changed, but for what is missing beside it", async () => {
    const dir = await existing();
    const result = await change(dir, {});
    expect(await read(dir)).toBe(CONFIG);
    expect(result.files.map(({ path }) => path)).not.toContain("cairn.yaml");
    expect(await readdir(join(dir, "infra"))).toContain("Pulumi.yaml");
    expect((await change(dir, {})).files).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string[], string[]]>([
    ["a setting", { timezone: "UTC" }, ["  timezone: UTC"], ["  timezone: Europe/Berlin"]],
    ["how an agent thinks", { thinking: ["nova=high"] }, ["    default_thinking: high"], ["    default_thinking: low"]],
    ["the model", { model: "gpt-6" }, ["    model: gpt-6"], ["    model: gpt-5.5"]],
    ["the owner", { "channel-owner": ["telegram=13"] }, ['    owner_id: "13"'], ["    owner_id: 12"]],
    [
      "where a node runs",
      { "node-host": ["two=ssh://a@b"], publish: "10.0.0.1:5432" },
      ["      host: ssh://a@b", "  datahub: { postgres: true, publish: 10.0.0.1:5432 }"],
      ["  datahub: { postgres: true }"],
    ],
    ["a node more", { node: ["one", "two", "three"] }, ["    - name: three"], []],
    [
      "a channel more",
      { channel: ["telegram", "discord"], "channel-owner": ["discord=123456789012345678"] },
      ["  discord:", "    token: ${DISCORD_TOKEN}", '    owner_id: "123456789012345678"'],
      [],
    ],
    ["an agent less", { agent: ["nova"] }, [], ["  iris: { provider: offline }"]],
  ])("is changed by %s alone: comments, unknown keys and references stay", async (_what, flags, added, removed) => {
    const dir = await existing();
    const result = await change(dir, flags);
    const after = await read(dir);
    expect(difference(CONFIG, after)).toEqual({ added, removed });
    for (const line of removed) expect(result.diff).toContain(`-${line}`);
    for (const line of added) expect(result.diff).toContain(`+${line}`);
    const { errors } = await inspectConfig({
      dir,
      env: bareEnvironment({ MY_ADDRESS: "127.0.0.1:80", TELEGRAM_TOKEN: "t", DISCORD_TOKEN: "d" }),
      readSecret: async () => "k",
      deployment: true,
    });
    expect(errors).toEqual([]);
    expect((await readdir(dir)).filter((name) => name.includes(".bak"))).toEqual([]);
  });

  test("loses no channel by a command that adds another one", async () => {
    const dir = await existing();
    await expect(
      change(dir, { channel: ["discord"], "channel-owner": ["discord=123456789012345678"] }),
    ).rejects.toMatchObject({
      name: "UsageError",
      message: "cairn.yaml has telegram too, which --channel does not name and would remove.",
      hint: expect.stringContaining("`--channel telegram`"),
    });
    expect(await read(dir)).toBe(CONFIG);
  });

  test("switches a channel on that is chosen, and no other", async () => {
    const off = CONFIG.replace("  telegram:\n", "  telegram:\n    enabled: false # for now\n");
    const dir = await existing(off);
    await change(dir, { channel: ["telegram"], "channel-owner": ["telegram=13"] });
    expect(difference(off, await read(dir))).toEqual({
      added: ["    enabled: true # for now", '    owner_id: "13"'],
      removed: ["    enabled: false # for now", "    owner_id: 12"],
    });
    await writeFile(join(dir, "cairn.yaml"), off);
    await change(dir, { timezone: "UTC" });
    expect(await read(dir)).toContain("    enabled: false # for now");
  });

  const PROXMOX = CONFIG.replace("${MY_ADDRESS}", "127.0.0.1:80").replace(
    /deployment:[\s\S]*/,
    `deployment:
  target: proxmox
  proxmox:
    host: pve
    host_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
    gateway: 10.0.0.1
    postgres_address: 10.0.0.9/24
  nodes:
    - name: one
      address: 10.0.0.5/24
    - name: two
  datahub: { postgres: true }
`,
  );
  const clash = { "node-address": ["two=10.0.0.5/24"] };

  test("is not changed into what could not be deployed", async () => {
    const dir = await existing(PROXMOX);
    const refused = change(dir, clash);
    await expect(refused).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
    expect(await read(dir)).toBe(PROXMOX);
    // What could not be deployed before does not stand in the way of something else.
    await writeFile(join(dir, "cairn.yaml"), PROXMOX.replace("name: two\n", "name: two\n      address: 10.0.0.5/24\n"));
    await expect(change(dir, { timezone: "UTC" })).resolves.toMatchObject({ target: "proxmox" });
  });

  test("is asked for again on a terminal where it could not be deployed", async () => {
    const dir = await existing(PROXMOX);
    const reasons: string[] = [];
    const nobody = unattended({ lenient: true });
    const dialog: Dialog = {
      ...nobody,
      attended: true,
      refused: async ({ code }) => {
        reasons.push(code);
        return "leave";
      },
    };
    await expect(change(dir, clash, { dialog })).rejects.toThrow("interrupted");
    expect(reasons).toEqual(["INFRA_PLAN_INVALID"]);
    expect(await read(dir)).toBe(PROXMOX);
  });

  test("gets another provider beside the one that it had", async () => {
    const dir = await existing();
    await change(dir, { provider: "anthropic" });
    const after = await read(dir);
    expect(after).toContain("    provider: anthropic\n");
    expect(after).toContain(
      "  anthropic:\n    kind: anthropic\n    model: claude-sonnet-5-5\n    api_key: ${ANTHROPIC_API_KEY}\n",
    );
    expect(after).toContain("    temperature: 0.2\n");
    expect(after).toContain("  iris: { provider: offline }");
  });

  test("shows and writes no secret that stands in it", async () => {
    const dir = await existing(CONFIG.replace("op://vault/openai/key", "sk-written-by-hand"));
    const result = await change(dir, { model: "gpt-6" });
    expect(JSON.stringify(result)).not.toContain("sk-written-by-hand");
    expect(await read(dir)).toContain("sk-written-by-hand");
  });

  test("is not asked for a key that stands in it, even where it looks like the name of a variable", async () => {
    const dir = await existing(CONFIG.replace("op://vault/openai/key", "hunter2"));
    const asked: string[] = [];
    const nobody = unattended({ lenient: true });
    const dialog: Dialog = {
      ...nobody,
      answer: (question, leaf) => {
        asked.push(JSON.stringify(question));
        return nobody.answer(question, leaf);
      },
    };
    const result = await change(dir, { model: "gpt-6" }, { dialog });
    expect(asked.join()).toContain("thinking");
    expect(JSON.stringify([asked, result])).not.toContain("hunter2");
    expect(await read(dir)).toContain("    api_key: hunter2\n");
  });

  test("asks for the key of another provider, though that of the former one is fixed by the file", async () => {
    const dir = await existing();
    const nobody = unattended({ lenient: true });
    const asked: string[] = [];
    const dialog: Dialog = {
      ...nobody,
      answer: async (question, leaf) => {
        asked.push(leaf.id);
        return leaf.id === "provider.id" ? "anthropic" : nobody.answer(question, leaf);
      },
    };
    await change(dir, {}, { dialog });
    expect(asked).toContain("provider.api_key_variable");
    expect(await read(dir)).toContain("    api_key: ${ANTHROPIC_API_KEY}\n");
  });

  test("that changes while the setup writes stays as it is, and the setup says so", async () => {
    const dir = await existing();
    const theirs = `${CONFIG}# Theirs.\n`;
    const changed = change(
      dir,
      { timezone: "UTC" },
      { onWritten: () => writeFileSync(join(dir, "cairn.yaml"), theirs) },
    );
    await expect(changed).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await read(dir)).toBe(theirs);
  });

  test.each([
    ["of a newer version", "version: 2\nagents: {}\n", "CONFIG_VERSION_UNSUPPORTED", /version/],
    ["that is broken", "version: 1\nagents:\n  main: [\n", "CONFIG_INVALID", /line \d+, column \d+/],
    ["that is a list", "- a\n", "CONFIG_INVALID", /mapping/],
  ])("%s is refused and not rewritten", async (_what, text, code, words) => {
    const dir = await existing(text);
    await expect(change(dir, { timezone: "UTC" })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(words),
    });
    expect(await read(dir)).toBe(text);
    expect((await readdir(dir)).sort()).toEqual([".env", "cairn.yaml"]);
  });

  test("that would become invalid is left alone", async () => {
    const dir = await existing();
    await expect(change(dir, { bind: ["telegram/7=nobody"] })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(await read(dir)).toBe(CONFIG);
  });

  test("that somebody changes meanwhile is not overwritten", async () => {
    const dir = await existing();
    const theirs = CONFIG.replace("# Mine.", "# Theirs.");
    const dialog: Dialog = {
      ...unattended({ lenient: true }),
      review: async () => {
        await writeFile(join(dir, "cairn.yaml"), theirs);
        return "write";
      },
    };
    await expect(change(dir, { timezone: "UTC" }, { dialog })).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await read(dir)).toBe(theirs);
    expect((await readdir(dir)).sort()).toEqual([".env", "cairn.yaml"]);
  });

  test("is reviewed without the advice of how to run Ollama, which comes once, at the end", async () => {
    const dir = await temporaryDirectory();
    const ollama =
      "version: 1\nagents: { main: { provider: ollama } }\nproviders: { ollama: { kind: ollama, model: qwen3 } }\n";
    await writeFile(join(dir, "cairn.yaml"), ollama);
    const reviewed: string[] = [];
    const dialog: Dialog = {
      ...unattended({ lenient: true }),
      review: async ({ notes }) => {
        reviewed.push("reviewed", ...notes);
        return "write";
      },
    };
    const { notes } = await change(dir, { timezone: "Europe/Berlin" }, { dialog });
    const saying = (lines: readonly string[]) => lines.filter((line) => line.includes("OLLAMA_CONTEXT_LENGTH"));
    expect(saying(notes)).toHaveLength(1);
    expect(reviewed).toContain("reviewed");
    expect(saying(reviewed)).toEqual([]);
  });

  test("that cannot be written says so, and nothing is written beside it", async () => {
    const dir = await existing();
    await mkdir(join(dir, "infra"));
    await chmod(dir, 0o555);
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      await expect(change(dir, { timezone: "UTC" })).rejects.toMatchObject({ name: "ConfigError" });
    } finally {
      if (root) process.seteuid?.(0);
      await chmod(dir, 0o755);
    }
    expect(await read(dir)).toBe(CONFIG);
  });
});

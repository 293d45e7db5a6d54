import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeJoinToken } from "../../../runtime/contracts/join-token.ts";
import { type Cli, createCli } from "../../support/cli.ts";
import { MESSAGE_ID, SUMMARY_ID } from "../../support/fake-reading.ts";
import { wrongWith } from "../../support/result-schema.ts";

// Each test runs several processes, which take their time on a busy machine.

interface Case {
  readonly argv: readonly string[];
  readonly schema: string;
  readonly code?: number;
  readonly prepare?: (cli: Cli) => Promise<unknown>;
  readonly env?: (cli: Cli) => NodeJS.ProcessEnv;
}

const node = (cli: Cli) => cli.node();
const withoutNode: readonly Case[] = [
  { argv: ["version"], schema: "version" },
  { argv: ["status"], schema: "status", code: 1 },
  { argv: ["stop"], schema: "stop" },
  { argv: ["logs"], schema: "logs" },
  { argv: ["config", "validate"], schema: "config-validate" },
  { argv: ["config", "validate"], schema: "config-validate", code: 1, prepare: aWrongAgent },
  { argv: ["config", "--yes", "--timezone", "Europe/Berlin"], schema: "config" },
  { argv: ["agent", "list"], schema: "agent-list" },
  { argv: ["agent", "add", "second", "--provider", "offline"], schema: "agent-add" },
  {
    argv: ["agent", "remove", "second"],
    schema: "agent-remove",
    prepare: (cli) => cli.run(["agent", "add", "second", "--provider", "offline"]),
  },
  { argv: ["provider"], schema: "provider" },
  { argv: ["provider", "ollama", "--model", "llama"], schema: "provider" },
  { argv: ["model"], schema: "model" },
  { argv: ["memory", "move", "embedded"], schema: "memory-move" },
  { argv: ["plugins", "list"], schema: "plugins-list" },
  { argv: ["plugins", "info", "shell"], schema: "plugins-info" },
  { argv: ["plugin", "init", "rain", "--kind", "hook", "--in", "made"], schema: "plugin-init" },
  {
    argv: ["plugin", "add", "./made/sun"],
    schema: "plugin-add",
    prepare: (cli) => cli.run(["plugin", "init", "sun", "--in", "made"]),
  },
  { argv: ["plugin", "remove", "sun"], schema: "plugin-remove" },
  // Either word of the two topics is taken.
  { argv: ["plugins", "remove", "sun"], schema: "plugin-remove" },
  { argv: ["plugin", "list"], schema: "plugins-list" },
  { argv: ["skills", "list"], schema: "skills-list", prepare: aSkill },
  { argv: ["skill", "init", "coffee", "--in", "made"], schema: "skill-init" },
  { argv: ["skill", "validate", "workspace/skills/tea"], schema: "skill-validate", prepare: aSkill },
  { argv: ["skill", "validate", "workspace/skills/milk"], schema: "skill-validate", code: 1 },
  { argv: ["completion", "bash"], schema: "completion" },
  { argv: ["login", "--status"], schema: "login", code: 1, prepare: aSubscription },
  { argv: ["login", "--logout"], schema: "login", prepare: aSubscription },
  { argv: ["init", "--yes"], schema: "init", prepare: (cli) => rm(join(cli.home, "cairn.yaml")) },
  { argv: ["mesh", "join", "nova", "--token-file", "token"], schema: "mesh-join", prepare: aJoinToken },
  { argv: ["start", "--detach"], schema: "start" },
  { argv: ["restart"], schema: "restart", prepare: node },
  { argv: ["token", "rotate"], schema: "token-rotate", env: () => ({ SERVICE_API_TOKEN: "" }) },
  { argv: ["doctor", "--only", "config"], schema: "doctor" },
  { argv: ["service", "install", "--user"], schema: "service-install", prepare: aManager, env: managed },
  { argv: ["service", "uninstall", "--user"], schema: "service-uninstall", prepare: aManager, env: managed },
  { argv: ["infra", "render"], schema: "infra-render", prepare: aTarget },
];

async function aJoinToken(cli: Cli): Promise<void> {
  const token = {
    url: "https://nova.example.org:7500",
    node: "0123456789abcdef0123456789abcdef",
    pins: [Array.from({ length: 32 }, () => "AB").join(":")],
    expires_at: "2100-01-01T00:00:00.000Z",
    secret: "s".repeat(43),
  };
  await writeFile(join(cli.home, "token"), writeJoinToken(token), { mode: 0o600 });
}

/** A service manager that does whatever it is told. */
async function aManager(cli: Cli): Promise<void> {
  const bin = join(cli.home, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "systemctl"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
}

function managed({ home, env }: Cli): NodeJS.ProcessEnv {
  return { PATH: `${join(home, "bin")}:${env["PATH"]}`, XDG_CONFIG_HOME: join(home, "config") };
}

async function aWrongAgent(cli: Cli): Promise<void> {
  const file = join(cli.home, "cairn.yaml");
  await writeFile(file, `${await readFile(file, "utf8")}runtime: { default_agent: nobody }\n`);
}

async function aTarget(cli: Cli): Promise<void> {
  const file = join(cli.home, "cairn.yaml");
  await writeFile(file, `${await readFile(file, "utf8")}deployment:\n  target: docker\n`);
}

const TASK = ["--task", "embed"];

const withNode: readonly Case[] = [
  { argv: ["status"], schema: "status" },
  // The stand-in does not know the whole self-test: its failure is a result, too.
  { argv: ["test", "--quick"], schema: "test", code: 1 },
  { argv: ["chat", "hello"], schema: "chat" },
  { argv: ["chat", "/status"], schema: "chat" },
  { argv: ["token", "create", "laptop", "--scope", "capture"], schema: "token-create" },
  { argv: ["token", "list"], schema: "token-list" },
  { argv: ["token", "revoke", "id-1"], schema: "token-revoke" },
  { argv: ["memory", "backup", "a.backup"], schema: "memory-backup" },
  { argv: ["memory", "backups"], schema: "memory-backups" },
  { argv: ["memory", "export", "a.jsonl"], schema: "memory-export" },
  { argv: ["memory", "import", "in.jsonl"], schema: "memory-import" },
  { argv: ["memory", "forget", "--session", "s", "--confirm", "2"], schema: "memory-forget" },
  { argv: ["memory", "search", "x"], schema: "memory-search" },
  { argv: ["memory", "stats"], schema: "memory-stats" },
  { argv: ["sessions"], schema: "sessions" },
  { argv: ["memory", "sessions"], schema: "memory-sessions" },
  { argv: ["memory", "show", MESSAGE_ID], schema: "memory-show" },
  { argv: ["memory", "show", SUMMARY_ID], schema: "memory-show" },
  { argv: ["memory", "browse"], schema: "memory-browse" },
  { argv: ["memory", "wiki"], schema: "memory-wiki" },
  { argv: ["memory", "wiki", "bees"], schema: "memory-wiki" },
  { argv: ["memory", "queue-status"], schema: "memory-queue-status" },
  { argv: ["mesh", "list"], schema: "mesh-list" },
  { argv: ["mesh", "ping"], schema: "mesh-ping", code: 1 },
  { argv: ["mesh", "status"], schema: "mesh-status", code: 1 },
  { argv: ["mesh", "token"], schema: "mesh-token" },
  { argv: ["pairing", "list"], schema: "pairing-list" },
  { argv: ["pairing", "approve", "ABCD-EFGH"], schema: "pairing-approve" },
  { argv: ["pairing", "revoke", "telegram", "7"], schema: "pairing-revoke" },
  { argv: ["approvals", "list"], schema: "approvals-list" },
  { argv: ["approvals", "list", "--standing"], schema: "approvals-list" },
  { argv: ["approvals", "approve", "5f3a91c2", "--always"], schema: "approvals-approve" },
  { argv: ["approvals", "deny", "5f3a91c2"], schema: "approvals-deny" },
  { argv: ["approvals", "revoke", "01a2f3c4-0000-7000-8000-00005f3a91c2"], schema: "approvals-revoke" },
  { argv: ["mcp", "approve", "files"], schema: "mcp-approve" },
  { argv: ["mcp", "approve", "files", "--confirm", "d1"], schema: "mcp-approve" },
  { argv: ["mesh", "leave", "--confirm", "stand-in"], schema: "mesh-leave" },
  { argv: ["mesh", "revoke", "attic", "--confirm", "attic"], schema: "mesh-revoke" },
  { argv: ["schedule", "list"], schema: "schedule-list" },
  { argv: ["schedule", "run", "morning"], schema: "schedule-run" },
  { argv: ["schedule", "pause", "morning"], schema: "schedule-pause" },
  { argv: ["schedule", "resume", "evening", "--agent", "second"], schema: "schedule-resume" },
  { argv: ["usage", "--by", "model"], schema: "usage" },
  { argv: ["memory", "backfill-tool-synth", "--dry-run"], schema: "memory-backfill-tool-synth" },
  { argv: ["memory", "retry-failed", ...TASK], schema: "memory-retry-failed" },
  { argv: ["memory", "retry-failed", ...TASK, "--dry-run"], schema: "memory-retry-failed" },
  { argv: ["stop"], schema: "stop" },
];

async function aSkill(cli: Cli): Promise<void> {
  const file = join(cli.home, "workspace", "skills", "tea", "SKILL.md");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "---\nname: tea\ndescription: Makes tea\n---\nBoil water.\n");
}

async function aSubscription(cli: Cli): Promise<void> {
  const login = "login: { client_id: my-own }";
  await writeFile(
    join(cli.home, "cairn.yaml"),
    `version: 1\nagents:\n  main: {}\nproviders:\n  anthropic: { model: claude-sonnet-5, ${login} }\n`,
  );
}

async function check(cli: Cli, { argv, schema, code = 0, env }: Case): Promise<void> {
  const result = await cli.run([...argv, "--json"], { env: env?.(cli) ?? {} });
  expect(result, argv.join(" ")).toMatchObject({ code });
  // Exactly one document: a second one would be no JSON.
  expect(wrongWith(schema, JSON.parse(result.stdout)), argv.join(" ")).toBeNull();
}

describe("the result of", () => {
  it.each(withoutNode)("$argv is one document of its schema", async (one) => {
    const cli = await createCli();
    await one.prepare?.(cli);
    await check(cli, one);
  });

  it("the commands that ask a node are each one document of their schemas", async () => {
    const cli = await createCli();
    await cli.node();
    await writeFile(join(cli.home, "in.jsonl"), "{}\n");
    for (const one of withNode) await check(cli, one);
  });

  it("memory restore is one document of its schema", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "a.backup"), "archive");
    await check(cli, { argv: ["memory", "restore", "a.backup"], schema: "memory-restore" });
  });

  it("a command that fails is one document of the error's schema", async () => {
    const cli = await createCli();
    for (const argv of [
      ["chat", "x"],
      ["agent", "remove", "nobody"],
      ["update", "--prebuilt", "cairn:1"],
    ]) {
      const { code, stdout } = await cli.run([...argv, "--json"]);
      expect(code).toBeGreaterThan(0);
      expect(wrongWith("error", JSON.parse(stdout)), argv.join(" ")).toBeNull();
    }
  });
});

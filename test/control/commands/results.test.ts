import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, vi } from "vitest";
import { type Cli, createCli } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const SCHEMAS = fileURLToPath(new URL("../../../docs/schemas", import.meta.url));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = new Map<string, ReturnType<typeof ajv.compile>>();

/** What is wrong with a document, by the published schema; null when it is right. */
function wrongWith(name: string, document: unknown): unknown {
  const file = join(SCHEMAS, `${name}.schema.json`);
  const validate = validators.get(name) ?? ajv.compile(JSON.parse(readFileSync(file, "utf8")));
  validators.set(name, validate);
  return validate(document) ? null : { errors: validate.errors, document };
}

interface Case {
  readonly argv: readonly string[];
  readonly schema: string;
  readonly code?: number;
  readonly prepare?: (cli: Cli) => Promise<unknown>;
}

const node = (cli: Cli) => cli.node();
const alone: readonly Case[] = [
  { argv: ["version"], schema: "version" },
  { argv: ["status"], schema: "status", code: 1 },
  { argv: ["stop"], schema: "stop" },
  { argv: ["logs"], schema: "logs" },
  { argv: ["config", "validate"], schema: "config-validate" },
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
  { argv: ["plugins", "list"], schema: "plugins-list" },
  { argv: ["plugins", "info", "shell"], schema: "plugins-info" },
  { argv: ["skills", "list"], schema: "skills-list", prepare: aSkill },
  { argv: ["completion", "bash"], schema: "completion" },
  { argv: ["login", "--status"], schema: "login", code: 1, prepare: aSubscription },
  { argv: ["login", "--logout"], schema: "login", prepare: aSubscription },
  { argv: ["init", "--yes"], schema: "init", prepare: (cli) => rm(join(cli.home, "cairn.yaml")) },
  { argv: ["start", "--detach"], schema: "start" },
  { argv: ["restart"], schema: "restart", prepare: node },
  { argv: ["doctor", "--only", "config"], schema: "doctor" },
];

const withNode: readonly Case[] = [
  { argv: ["status"], schema: "status" },
  // The stand-in does not know the whole self-test: its failure is a result, too.
  { argv: ["test", "--quick"], schema: "test", code: 1 },
  { argv: ["chat", "--message", "hello"], schema: "chat" },
  { argv: ["chat", "--message", "/status"], schema: "chat" },
  { argv: ["token", "create", "laptop", "--scope", "capture"], schema: "token-create" },
  { argv: ["token", "list"], schema: "token-list" },
  { argv: ["token", "revoke", "id-1"], schema: "token-revoke" },
  { argv: ["memory", "backup", "a.backup"], schema: "memory-backup" },
  { argv: ["memory", "export", "a.jsonl"], schema: "memory-export" },
  { argv: ["memory", "import", "in.jsonl"], schema: "memory-import" },
  { argv: ["memory", "search", "x"], schema: "memory-search" },
  { argv: ["memory", "stats"], schema: "memory-stats" },
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

async function check(cli: Cli, { argv, schema, code = 0 }: Case): Promise<void> {
  const result = await cli.run([...argv, "--json"]);
  expect(result, argv.join(" ")).toMatchObject({ code });
  // Exactly one document: a second one would be no JSON.
  expect(wrongWith(schema, JSON.parse(result.stdout)), argv.join(" ")).toBeNull();
}

describe("the result of", () => {
  it.each(alone)("$argv is one document of its schema", async (one) => {
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
      ["chat", "--message", "x"],
      ["agent", "remove", "nobody"],
      ["update", "--mesh"],
    ]) {
      const { code, stdout } = await cli.run([...argv, "--json"]);
      expect(code).toBeGreaterThan(0);
      expect(wrongWith("error", JSON.parse(stdout)), argv.join(" ")).toBeNull();
    }
  });
});

import { access, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Parser } from "@oclif/core";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import Init from "../../../control/commands/init.ts";
import { DRAFT_FILE } from "../../../control/wizard/draft.ts";
import { initialize } from "../../../control/wizard/init.ts";
import { readProject } from "../../../infra/project.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { startModels } from "../../support/terminal/models.ts";
import {
  createMachine,
  down,
  ENTER,
  follow,
  type Machine,
  writtenFiles,
} from "../../support/terminal/setup-session.ts";
import { TARGETS, WRITE } from "../../support/terminal/targets.ts";
import { KEYS } from "../../support/terminal/terminal.ts";

// Each test runs whole processes, which take their time on a busy machine.

const SECRETS = { ANTHROPIC_API_KEY: "k", TELEGRAM_TOKEN: "t" };

/** The same setup, by flags. */
async function byFlags(machine: Machine, argv: readonly string[]): Promise<Record<string, string>> {
  const dir = join(machine.dir, "..", "by-flags");
  const { flags } = await Parser.parse([...argv, "--yes"], { flags: Init.flags, strict: true });
  await initialize({
    directories: { dir, home: join(dir, ".cairn"), file: join(dir, "cairn.yaml") },
    env: machine.env,
    flags,
  });
  return writtenFiles(dir);
}

describe.skipIf(lacks("pseudo-terminal"))("a setup on a terminal", () => {
  test.each(Object.entries(TARGETS))(
    "for %s is what the same flags make, byte for byte, and can be deployed",
    async (name, setup) => {
      const machine = await createMachine();
      const session = machine.open();
      await follow(session, [...setup.deployment, ...setup.agents, ...setup.channels, ...WRITE]);
      expect(await session.ended).toBe(0);
      const files = await writtenFiles(machine.dir);
      expect(files).toEqual(await byFlags(machine, setup.flags));
      expect(await readdir(machine.dir)).not.toContain(DRAFT_FILE);

      const env = { ...machine.env, ...SECRETS };
      const { errors } = await inspectConfig({ dir: machine.dir, env, deployment: true });
      expect(errors).toEqual([]);
      if (name === "manual") return;
      const { plan } = await readProject({ dir: machine.dir, env });
      expect(plan).toMatchObject({ target: name, postgres: expect.anything() });
      expect(Object.keys(files)).toEqual(expect.arrayContaining(["infra/Pulumi.yaml", "infra/index.ts"]));
    },
  );

  test("asks for secrets hidden, writes them into .env alone, and shows and keeps none", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels } = TARGETS.docker;
    const session = machine.open();
    const asked = channels.map(([question, keys]) =>
      question.startsWith("Key of") ? ([question, `sk-very-secret${keys}`] as const) : ([question, keys] as const),
    );
    await follow(session, [...deployment, ...agents, ...asked]);
    await session.until("Write this?");
    expect(await readFile(join(machine.dir, DRAFT_FILE), "utf8")).not.toContain("sk-very-secret");
    session.type(KEYS.enter);
    expect(await session.ended).toBe(0);
    const { ".env": secrets = "", ...others } = await writtenFiles(machine.dir);
    expect(secrets).toContain("ANTHROPIC_API_KEY=sk-very-secret\n");
    expect((await stat(join(machine.dir, ".env"))).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(others)).not.toContain("sk-very-secret");
    expect(session.shown()).not.toContain("sk-very-secret");
  });

  test("that is interrupted has written nothing, and goes on where it was", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels, flags } = TARGETS.docker;
    const first = machine.open();
    await follow(first, deployment);
    await first.until("Names of the agents");
    first.type(KEYS.interrupt);
    expect(await first.ended).toBe(130);
    expect(first.shown()).toContain("the same command goes on from here");
    expect(await readdir(machine.dir)).toEqual([DRAFT_FILE]);
    expect((await stat(join(machine.dir, DRAFT_FILE))).mode & 0o777).toBe(0o600);

    const second = machine.open();
    await follow(second, [["Go on with its answers?", KEYS.enter], ...agents, ...channels, ...WRITE]);
    expect(await second.ended).toBe(0);
    expect(await writtenFiles(machine.dir)).toEqual(await byFlags(machine, flags));
  });

  test("asks again what the review sends back", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels } = TARGETS.manual;
    const session = machine.open();
    await follow(session, [...deployment, ...agents, ...channels, ["Write this?", KEYS.down.repeat(2) + KEYS.enter]]);
    await follow(session, [
      ["Names of the agents", `nova${KEYS.enter}`],
      ["Language model provider", KEYS.enter],
      ["How long shall nova think?", KEYS.enter],
      ...WRITE,
    ]);
    expect(await session.ended).toBe(0);
    const yaml = await readFile(join(machine.dir, "cairn.yaml"), "utf8");
    expect(yaml).toContain("default_agent: nova");
    expect(yaml).not.toContain("main:");
  });

  test("takes a server's models as choices, and offers what its embedding model and its model can do for the memory", async () => {
    const machine = await createMachine();
    const server = await startModels("nomic-embed-text:latest", "llama3.2:3b", "qwen3:8b");
    const session = machine.open(["init"], { env: { OLLAMA_HOST: server } });
    await follow(session, [
      ...TARGETS.manual.deployment,
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      ["Address of ollama", ENTER],
      ["Model of ollama", down(1)],
      ["How long shall main think?", ENTER],
      ["Search the memory by meaning", ENTER],
      ["Let ollama summarize old messages", ENTER],
      ...WRITE,
    ]);
    expect(await session.ended).toBe(0);
    expect(session.shown()).toContain("Agents (3 of 6)");
    expect(parse(await readFile(join(machine.dir, "cairn.yaml"), "utf8"))).toMatchObject({
      providers: { ollama: { base_url: `${server}/v1`, model: "qwen3:8b" } },
      memory: {
        embedded: {},
        embedding: { provider: "ollama", base_url: server, model: "nomic-embed-text:latest" },
        summarizer: { base_url: `${server}/v1`, model: "qwen3:8b" },
      },
    });
    const { errors, warnings } = await inspectConfig({ dir: machine.dir, env: machine.env, deployment: false });
    expect([...errors, ...warnings]).toEqual([]);
  });

  test("that is left at the review writes nothing", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels } = TARGETS.manual;
    const session = machine.open();
    await follow(session, [...deployment, ...agents, ...channels, ["Write this?", KEYS.down.repeat(9) + KEYS.enter]]);
    expect(await session.ended).toBe(130);
    await expect(access(join(machine.dir, "cairn.yaml"))).rejects.toThrow();
  });

  test("never takes a host's key that nobody has agreed to", async () => {
    const machine = await createMachine();
    const session = machine.open();
    await follow(session, TARGETS.proxmox.deployment.slice(0, 4));
    await session.until("Is SHA256:");
    session.type(KEYS.enter);
    await session.until("Its public host key");
    session.type(KEYS.enter);
    await session.until("an answer is needed");
    session.type(KEYS.interrupt);
    expect(await session.ended).toBe(130);
    expect(await readFile(join(machine.dir, DRAFT_FILE), "utf8")).not.toContain('host_key"');
  });
});

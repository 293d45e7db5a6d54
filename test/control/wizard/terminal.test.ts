import { access, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Parser } from "@oclif/core";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import Init from "../../../control/commands/init.ts";
import { SERVICES } from "../../../control/wizard/catalogue.ts";
import { DRAFT_FILE } from "../../../control/wizard/draft.ts";
import { initialize } from "../../../control/wizard/init.ts";
import { readProject } from "../../../infra/project.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { drawnRows } from "../../support/terminal/drawn.ts";
import { startModels } from "../../support/terminal/models.ts";
import {
  createMachine,
  down,
  ENTER,
  follow,
  type Machine,
  writtenFiles,
} from "../../support/terminal/setup-session.ts";
import { NO_CHANNELS, TARGETS, WRITE } from "../../support/terminal/targets.ts";
import { KEYS, ROWS } from "../../support/terminal/terminal.ts";

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
      await follow(session, [...setup.deployment, ...setup.agents, ...setup.channels, ...WRITE, ...setup.finish]);
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
    await follow(session, [["Deploy now?", ENTER]]);
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
    await second.until(/A setup was interrupted \(\d{4}-\d\d-\d\d \d\d:\d\d\)/);
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
      ...WRITE,
      ...TARGETS.manual.finish,
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
      ...NO_CHANNELS,
      ...WRITE,
      ...TARGETS.manual.finish,
    ]);
    expect(await session.ended).toBe(0);
    expect(session.shown()).toContain("Agents (3 of 6)");
    expect(parse(await readFile(join(machine.dir, "cairn.yaml"), "utf8"))).toMatchObject({
      providers: { ollama: { base_url: server, model: "qwen3:8b" } },
      memory: {
        embedded: {},
        embedding: { provider: "ollama", base_url: server, model: "nomic-embed-text:latest" },
        summarizer: { base_url: server, model: "qwen3:8b" },
      },
    });
    const { errors, warnings } = await inspectConfig({ dir: machine.dir, env: machine.env, deployment: false });
    expect([...errors, ...warnings]).toEqual([]);
  });

  test("gives nodes in containers an address at which they reach this machine, and says where the server is deaf", async () => {
    const machine = await createMachine();
    const gateway = "192.0.2.1";
    await machine.tools.add("docker", `case "$1" in network) echo ${gateway};; *) echo 28.1.0;; esac`);
    const server = await startModels("llama3.2:3b");
    const host = `${gateway}:${new URL(server).port}`;
    const session = machine.open(["init"], { env: { OLLAMA_HOST: server } });
    await follow(session, [
      ["Where shall the service run?", down(1)],
      ["Name of the deployment", ENTER],
      ["Docker host (", ENTER],
      ["Docker network", ENTER],
      ["Names of the nodes", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Time zone", `UTC${ENTER}`],
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      [`${host} leads from there to this machine`, ""],
      [`http://${host}`, ENTER],
      ["Model of ollama", ENTER],
      ["How long shall main think?", ENTER],
      ["Let ollama summarize old messages", ENTER],
      ...NO_CHANNELS,
      [`ollama does not listen at ${host} yet`, ""],
      ...WRITE,
      ["Deploy now?", ENTER],
    ]);
    expect(await session.ended).toBe(0);
    expect(parse(await readFile(join(machine.dir, "cairn.yaml"), "utf8"))).toMatchObject({
      providers: { ollama: { base_url: `http://${host}` } },
      memory: { summarizer: { base_url: `http://${host}` } },
    });
  });

  test("ends in the screen of the node that it starts", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels } = TARGETS.manual;
    const session = machine.open(["init"], { env: { CAIRN_STAND_IN: "1", SERVICE_LISTEN: "127.0.0.1:0" } });
    await follow(session, [
      ...deployment,
      ...agents,
      ...channels,
      ...WRITE,
      ["Start it now?", ENTER],
      ["The node is ready.", ""],
      ["quit: the node ends, too", "q"],
      ["The node has stopped.", ""],
    ]);
    expect(await session.ended).toBe(0);
  });

  test("takes no port that another program has", async () => {
    const machine = await createMachine();
    const { port } = new URL(await startModels("x"));
    const session = machine.open();
    await follow(session, [
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", `127.0.0.1:${port}${ENTER}`],
      [`another program has port ${port}`, KEYS.interrupt],
    ]);
    expect(await session.ended).toBe(130);
  });

  test("takes pasted lines as one answer, which waits for Enter", async () => {
    const machine = await createMachine();
    const session = machine.open();
    await follow(session, [
      ...TARGETS.manual.deployment,
      ["Names of the agents", "\u001b[200~\rmain\riris\r\u001b[201~"],
      ["main iris", ENTER],
      ["Language model provider", KEYS.interrupt],
    ]);
    expect(await session.ended).toBe(130);
    expect(session.written()).toContain("\u001b[?2004l");
    const { answers } = JSON.parse(await readFile(join(machine.dir, DRAFT_FILE), "utf8"));
    expect(answers.agents.map(({ name }: { name: string }) => name)).toEqual(["main", "iris"]);
  });

  test("breaks no word of what it asks where the terminal has 40 columns", async () => {
    const machine = await createMachine();
    const columns = 40;
    const session = machine.open(["init"], { columns });
    const narrow = TARGETS.docker.deployment.map(([question, keys]) => [question.slice(0, 20), keys] as const);
    await follow(session, [...narrow, ["Names of the agents", KEYS.interrupt]]);
    expect(await session.ended).toBe(130);
    const rows = await drawnRows(session.written(), { columns, rows: ROWS });
    const at = rows.findIndex((row) => row.includes("Address and port of the database"));
    expect(rows.slice(at, at + 2)).toEqual([
      "\u2714 Address and port of the database for",
      "  nodes on other hosts: 10.0.0.5:5432",
    ]);
    const open = rows.findIndex((row) => row.includes("Names of the agents"));
    expect(rows.slice(open, open + 3)).toEqual([
      "? Names of the agents, separated by",
      "  commas; the first is the default:",
      "   (main)",
    ]);
  });

  test("shows every provider, and asks no agent without a model how long it shall think", async () => {
    const machine = await createMachine();
    const session = machine.open();
    await follow(session, [...TARGETS.manual.deployment, ["Names of the agents", ENTER]]);
    const shown = await session.until("no language model");
    for (const { id } of SERVICES) expect(`${shown}${session.shown()}`, id).toContain(id);
    session.type(ENTER);
    await follow(session, NO_CHANNELS);
    await session.until("Write this?");
    session.type(KEYS.interrupt);
    expect(await session.ended).toBe(130);
    expect(session.shown()).not.toContain("think?");
  });

  test("of a configuration that is there shows the difference once", async () => {
    const machine = await createMachine();
    const first = machine.open(["init", "--yes", "--timezone", "UTC"]);
    expect(await first.ended).toBe(0);
    const session = machine.open(["config", "--timezone", "Europe/Berlin"]);
    await follow(session, [
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", ENTER],
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      ...NO_CHANNELS,
      ["Write this?", ENTER],
    ]);
    expect(await session.ended).toBe(0);
    expect(session.shown().match(/\+ {2}timezone: Europe\/Berlin/g)).toHaveLength(1);
    expect(session.shown()).toContain("Changed in");
  });

  test("that is left at its end is written all the same", async () => {
    const machine = await createMachine();
    const { deployment, agents, channels } = TARGETS.manual;
    const session = machine.open();
    await follow(session, [...deployment, ...agents, ...channels, ...WRITE, ["Start it now?", KEYS.interrupt]]);
    expect(await session.ended).toBe(130);
    expect(session.shown()).toContain("Everything is written; nothing was started.");
    await access(join(machine.dir, "cairn.yaml"));
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

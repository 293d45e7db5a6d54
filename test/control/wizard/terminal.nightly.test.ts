import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DRAFT_FILE } from "../../../control/wizard/draft.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import {
  createMachine,
  ENTER,
  follow,
  type Machine,
  type Script,
  writtenFiles,
} from "../../support/terminal/setup-session.ts";
import { TARGETS, WRITE } from "../../support/terminal/targets.ts";
import { KEYS, type TerminalSession } from "../../support/terminal/terminal.ts";

const { deployment, agents, channels } = TARGETS.docker;
const WHOLE: Script = [...deployment, ...agents, ...channels, ...WRITE];

/** Where a setup is ended: so many answers are given, and this is asked then. */
const PLACES: readonly (readonly [phase: string, answered: number])[] = [
  ["deployment", 0],
  ["deployment, half-way", 5],
  ["agents", deployment.length],
  ["agents, half-way", deployment.length + 3],
  ["channels, at a secret", deployment.length + agents.length],
  ["review", WHOLE.length - 1],
];

async function reach(session: TerminalSession, answered: number): Promise<void> {
  await follow(session, WHOLE.slice(0, answered));
  await session.until(WHOLE[answered]?.[0] ?? "");
}

/** Nothing but the draft, which only its owner reads and which holds no secret. */
async function expectNothingWritten(machine: Machine, answered: number): Promise<void> {
  const names = await readdir(machine.dir).catch(() => []);
  expect(names.filter((name) => !name.startsWith(DRAFT_FILE))).toEqual([]);
  if (answered === 0) return;
  expect((await stat(join(machine.dir, DRAFT_FILE))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(machine.dir, DRAFT_FILE), "utf8")).not.toMatch(/sk-|SERVICE_API_TOKEN/);
}

/** Goes on with what was answered, and ends as a setup that was never interrupted. */
async function expectResumed(machine: Machine, answered: number): Promise<void> {
  const session = machine.open();
  // Secrets are asked again: they were kept nowhere.
  const secrets = channels.filter(([question]) => /^(?:Key|Token) of/.test(question));
  const open = WHOLE.slice(answered).filter((step) => !secrets.includes(step) && step !== WRITE[0]);
  await follow(session, [
    ...(answered === 0 ? [] : [["Go on with its answers?", ENTER] as const]),
    ...open,
    ...secrets,
    ...WRITE,
  ]);
  expect(await session.ended).toBe(0);
  const { errors } = await inspectConfig({
    dir: machine.dir,
    env: { ...machine.env, ANTHROPIC_API_KEY: "k", TELEGRAM_TOKEN: "t" },
    deployment: true,
  });
  expect(errors).toEqual([]);
  const golden = await readFile(new URL("../../fixtures/init/target-docker.yaml", import.meta.url), "utf8");
  const files = await writtenFiles(machine.dir);
  expect(files["cairn.yaml"]).toBe(golden);
  expect(Object.keys(files).filter((name) => name.startsWith(".cairn-init"))).toEqual([]);
}

describe.skipIf(lacks("pseudo-terminal"))("a setup on a terminal", () => {
  test.each(PLACES)(
    "that is interrupted by Ctrl-C in the phase %s leaves nothing half-written, and goes on",
    async (_phase, answered) => {
      const machine = await createMachine();
      const session = machine.open();
      await reach(session, answered);
      session.type(KEYS.interrupt);
      expect(await session.ended).toBe(130);
      await expectNothingWritten(machine, answered);
      await expectResumed(machine, answered);
    },
  );

  test.each(PLACES)(
    "that is killed in the phase %s leaves nothing half-written, and goes on",
    async (_phase, answered) => {
      const machine = await createMachine();
      const session = machine.open();
      await reach(session, answered);
      process.kill(await session.pid, "SIGKILL");
      expect(await session.ended).toBe(128 + 9);
      await expectNothingWritten(machine, answered);
      await expectResumed(machine, answered);
    },
  );

  test("that is interrupted while it looks around ends at once", async () => {
    const machine = await createMachine();
    await machine.tools.add("docker", "echo looking >&2; exec /bin/sleep 60");
    const session = machine.open();
    await expect.poll(async () => (await machine.tools.calls()).some(([program]) => program === "docker")).toBe(true);
    process.kill(await session.pid, "SIGINT");
    expect(await session.ended).toBe(130);
    expect(await readdir(machine.dir).catch(() => [])).toEqual([]);
  });

  test.each(Object.entries(TARGETS))("for %s asks the same where the terminal has 40 columns", async (name, setup) => {
    const machine = await createMachine();
    const session = machine.open(["init"], { columns: 40 });
    // Long questions are broken into lines: their first words are enough, and of a fingerprint what the next line begins with.
    const narrow = [...setup.deployment, ...setup.agents, ...setup.channels, ...WRITE, ...setup.finish].map(
      ([question, keys]) => [question.replace(/^Is /, "").slice(0, 20), keys] as const,
    );
    await follow(session, narrow);
    expect(await session.ended).toBe(0);
    const golden = await readFile(new URL(`../../fixtures/init/target-${name}.yaml`, import.meta.url), "utf8");
    expect((await writtenFiles(machine.dir))["cairn.yaml"]).toBe(golden);
  });

  test("at the same moment as another leaves one whole setup, and says so to the other", async () => {
    const machine = await createMachine();
    const sessions = [machine.open(["init", "--no-resume"]), machine.open(["init", "--no-resume"])];
    const setup = TARGETS.manual;
    const script = [...setup.deployment, ...setup.agents, ...setup.channels];
    for (const session of sessions) await follow(session, script);
    for (const session of sessions) await session.until("Write this?");
    for (const session of sessions) session.type(ENTER);
    const asked = sessions.map((session) => follow(session, setup.finish).catch(() => undefined));
    await Promise.all(asked);
    const codes = await Promise.all(sessions.map((session) => session.ended));
    expect(codes).toContain(0);
    for (const [index, code] of codes.entries())
      if (code !== 0) expect(sessions[index]?.shown()).toContain("There is a configuration already");
    const { errors } = await inspectConfig({ dir: machine.dir, env: machine.env });
    expect(errors).toEqual([]);
  });

  test("where nothing can be written says so before it asks anything", async () => {
    const machine = await createMachine();
    await writeFile(machine.dir, "a file stands in its place");
    const session = machine.open();
    expect(await session.ended).toBe(1);
    expect(session.shown()).toContain("CONFIG_UNWRITABLE");
    expect(session.shown()).not.toContain("Where shall");
  });

  test("changes a configuration that is there, and shows the difference first", async () => {
    const machine = await createMachine();
    const first = machine.open(["init", "--yes", "--timezone", "UTC"]);
    expect(await first.ended).toBe(0);
    const before = await readFile(join(machine.dir, "cairn.yaml"), "utf8");
    const session = machine.open(["config"]);
    await follow(session, [
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", ENTER],
      ["Time zone", `Europe/Berlin${ENTER}`],
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      ["Where else shall people reach the agents?", ENTER],
      ["+  timezone: Europe/Berlin", ""],
      ...WRITE,
    ]);
    expect(await session.ended).toBe(0);
    expect(await readFile(join(machine.dir, "cairn.yaml"), "utf8")).toBe(
      before.replace("timezone: UTC", "timezone: Europe/Berlin"),
    );
  });
});

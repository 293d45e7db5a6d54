import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { DRAFT_FILE } from "../../../control/wizard/draft.ts";
import { lacks } from "../../lanes/tools.ts";
import { drawnRows } from "../../support/terminal/drawn.ts";
import { createMachine, ENTER, follow, writtenFiles } from "../../support/terminal/setup-session.ts";
import { NO_CHANNELS, TARGETS, WRITE } from "../../support/terminal/targets.ts";
import { KEYS, ROWS } from "../../support/terminal/terminal.ts";

const ESC = "\u001b";
const BACK = `<${ENTER}`;
const golden = (name: string): Promise<string> =>
  readFile(new URL(`../../fixtures/init/target-${name}.yaml`, import.meta.url), "utf8");

describe.skipIf(lacks("pseudo-terminal"))("a person who goes back in a setup", () => {
  test("is asked the question before, over steps and from the review, with what was answered", async () => {
    const machine = await createMachine();
    const session = machine.open();
    await follow(session, [
      // There is nothing before the first one.
      ["Where shall the service run?", ESC],
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ESC],
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", `127.0.0.1:8080${ENTER}`],
      ["Time zone", BACK],
      ["Address of the HTTP server: (127.0.0.1:8080)", "<"],
      ["<", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server: (127.0.0.1:8080)", ENTER],
      ["Time zone", `Europe/Berlin${ENTER}`],
      ["Agents (3 of 6)", ""],
      ["Names of the agents", ESC],
      ["Time zone: (Europe/Berlin)", ENTER],
      ["Agents (3 of 6)", ""],
      ["Names of the agents", ENTER],
      ["Language model provider", "<"],
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      ...NO_CHANNELS,
      ["Review (5 of 6)", ""],
      ["Write this?", "<"],
      ...NO_CHANNELS,
      ...WRITE,
      ...TARGETS.manual.finish,
    ]);
    expect(await session.ended).toBe(0);
    // What led back is taken off the screen.
    const rows = await drawnRows(session.written(), { columns: 100, rows: ROWS });
    expect(rows.filter((row) => /: .*<$/.test(row))).toEqual([]);
    expect((await writtenFiles(machine.dir))["cairn.yaml"]).toBe(await golden("manual"));
  });

  test("sees each heading and each note once, whatever the width of the terminal", async () => {
    for (const columns of [40, 100]) {
      const machine = await createMachine();
      const session = machine.open(["init"], { columns });
      await follow(session, [
        ...TARGETS.manual.deployment,
        ["Names of the agents", ESC],
        ["Time zone: (Europe/Berlin)", ENTER],
        ["Names of the agents", ESC],
        ["Time zone: (Europe/Berlin)", ENTER],
        ["Names of the agents", ENTER],
        ["Language model provider", KEYS.interrupt],
      ]);
      expect(await session.ended).toBe(130);
      const rows = await drawnRows(session.written(), { columns, rows: ROWS });
      for (const said of ["Deployment (2 of 6)", "Agents (3 of 6)", "An agent is who answers you"])
        expect(
          rows.filter((row) => row.startsWith(said)),
          `${said}, ${columns} columns`,
        ).toHaveLength(1);
    }
  });

  test("keeps what was typed hidden, and may change a prefilled line or a yes", async () => {
    const machine = await createMachine();
    const { deployment, agents } = TARGETS.docker;
    const session = machine.open();
    await follow(session, [
      ...deployment,
      ...agents,
      ...NO_CHANNELS,
      ["Key of anthropic for ANTHROPIC_API_KEY", BACK],
      ...NO_CHANNELS,
      ["Key of anthropic for ANTHROPIC_API_KEY", `sk-very-secret${ENTER}`],
      ["Write this?", ESC],
      ["(empty: the one you typed)", ENTER],
      ["Write this?", ENTER],
      ["Deploy now?", ENTER],
    ]);
    expect(await session.ended).toBe(0);
    const files = await writtenFiles(machine.dir);
    expect(files[".env"]).toContain("ANTHROPIC_API_KEY=sk-very-secret\n");
    expect(files["cairn.yaml"]).toBe(await golden("docker"));

    const other = await createMachine();
    const proxmox = TARGETS.proxmox.deployment;
    const at = (words: string): number => proxmox.findIndex(([question]) => question.startsWith(words));
    const second = other.open();
    await follow(second, [
      ...proxmox.slice(0, at("Private key file")),
      ["Private key file", `~/.ssh/id${ENTER}`],
      // What is prefilled stands before what is typed.
      ["Container template", BACK],
      ["Private key file", BACK],
      ["SSH user", ENTER],
      ["~/.ssh/id", KEYS.erase.repeat(20) + ENTER],
      ...proxmox.slice(at("Container template"), at("Time zone")),
      ["Time zone", BACK],
      ["A volume that all nodes share, ", "<"],
      ["Gateway of the fixed addresses", ENTER],
      ["A volume that all nodes share, ", ENTER],
      ["Time zone", `UTC${ENTER}`],
      ...TARGETS.proxmox.agents,
      ...TARGETS.proxmox.channels,
      ...WRITE,
      ...TARGETS.proxmox.finish,
    ]);
    expect(await second.ended).toBe(0);
    expect((await writtenFiles(other.dir))["cairn.yaml"]).toBe(await golden("proxmox"));
  });

  test("and then leaves has written nothing, and goes on there", async () => {
    const machine = await createMachine();
    const session = machine.open();
    await follow(session, [...TARGETS.manual.deployment, ["Names of the agents", ESC], ["Time zone", KEYS.interrupt]]);
    expect(await session.ended).toBe(130);
    expect(await readdir(machine.dir)).toEqual([DRAFT_FILE]);
  });
});

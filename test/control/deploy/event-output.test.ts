import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { eventOutput, progressText } from "../../../control/deploy/event-output.ts";
import type { InfraEvent } from "../../../control/deploy/schemas.ts";
import type { Terminal } from "../../../control/output/terminal.ts";
import { wrongWith } from "../../support/result-schema.ts";

const time = "2030-01-01T00:00:00.000Z";
const urn = "urn:pulumi:s::cairn::docker:Container::main";
const EVENTS: readonly InfraEvent[] = [
  { schema: 1, event: "phase", time, phase: "up", message: "Deploying" },
  { schema: 1, event: "resource", time, op: "create", state: "started", type: "docker:Container", name: "main", urn },
  { schema: 1, event: "resource", time, op: "create", state: "done", type: "docker:Container", name: "main", urn },
  { schema: 1, event: "message", time, severity: "warning", message: "two\nlines \u001b[31m", urn: null },
];

function recording() {
  const said = { out: "", err: "" };
  const same = (text: string): string => text;
  const plain = { title: same, good: same, warn: same, error: same, dim: same, name: same };
  const terminal: Terminal = {
    async out(text) {
      said.out += String(text);
    },
    async err(text) {
      said.err += text;
    },
    outIsTerminal: false,
    errIsTerminal: false,
    errColumns: undefined,
    inIsTerminal: false,
    outColours: false,
    mark: plain,
    errMark: plain,
  };
  return { terminal, out: () => said.out, err: () => said.err };
}

describe("the events of an operation", () => {
  it("do not say of an image, which stays, that it was removed", async () => {
    const { terminal, err } = recording();
    const name = "pgvector/pgvector:0.8.1-pg17";
    const type = "docker:index/remoteImage:RemoteImage";
    eventOutput(terminal, false).show({
      schema: 1,
      event: "resource",
      time,
      op: "delete",
      state: "done",
      type,
      name,
      urn,
    });
    expect(err()).toBe(`  left there the image ${name}\n`);
  });

  it("are each one line of their schema for programs, on standard error alone", async () => {
    const { terminal, out, err } = recording();
    const output = eventOutput(terminal, true);
    for (const event of EVENTS) output.show(event);
    await output.pause();
    expect(out()).toBe("");
    const lines = err().trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(EVENTS);
    for (const line of lines) expect(wrongWith("infra-event", JSON.parse(line))).toBeNull();
  });

  it("are plain lines without a terminal, and nothing in them steers it", async () => {
    const { terminal, err } = recording();
    const output = eventOutput(terminal, false);
    for (const event of EVENTS) output.show(event);
    await output.pause();
    expect(err()).toBe("Deploying\n  created main\n  warning: two\nlines \\u001b[31m\n");
  });

  it("leave errors to the end of the command", async () => {
    const { terminal, err } = recording();
    const output = eventOutput(terminal, false);
    output.show({ schema: 1, event: "message", time, severity: "error", message: "no", urn });
    await output.pause();
    expect(err()).toBe("");
  });

  it("show on a terminal what is at work, how much is done, and how long it has taken", async () => {
    const { terminal, err } = recording();
    let now = 0;
    const output = eventOutput({ ...terminal, errIsTerminal: true }, false, () => now);
    output.show({ schema: 1, event: "phase", time, phase: "up", message: "Applying", total: 7 });
    now = 12_400;
    for (const event of EVENTS.slice(1, 3)) output.show(event);
    await output.pause();
    expect(err()).toContain("Applying (0 of 7, 12 s): main");
    expect(err()).toContain("Applying (1 of 7, 12 s)");
  });
});

/** The rows of a terminal of so many columns after this was written to it, without those that are empty. */
function rowsOn(columns: number, written: string): string[] {
  const rows = [""];
  for (const [part] of written.replaceAll("\u001b[2K", "\f").matchAll(/[\f\r\n]|[^\f\r\n]+/g)) {
    const last = rows.length - 1;
    if (part === "\n") rows.push("");
    else if (part === "\f") rows[last] = "";
    else if (part !== "\r") {
      const broken = `${rows[last]}${part}`.match(new RegExp(`.{1,${columns}}`, "g"));
      rows.splice(last, 1, ...(broken ?? [""]));
    }
  }
  return rows.filter((row) => row !== "");
}

it("the live line leaves nothing on a terminal, however narrow, between the lines that stay", async () => {
  const { terminal, err } = recording();
  const output = eventOutput({ ...terminal, errIsTerminal: true, errColumns: 40 }, false, () => 0);
  output.show({ schema: 1, event: "phase", time, phase: "up", message: "Applying", total: 3 });
  const resource = { schema: 1, event: "resource", time, op: "create", type: "docker:Container" } as const;
  const names = ["the-first-container", "the-second-container", "the-third-container"];
  for (const state of ["started", "done"] as const) {
    for (const name of names) {
      output.show({ ...resource, name, urn: name, state });
      // Events come one by one.
      await setImmediate();
    }
  }
  await output.pause();
  expect(rowsOn(40, err())).toEqual(names.map((name) => `  created ${name}`));
});

it("an amount that is not known is not said", () => {
  expect(progressText("Waiting", { done: 3, total: 0, elapsedMs: 2_000, active: [] })).toBe("Waiting (2 s)");
});

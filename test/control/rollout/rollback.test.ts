/** One node's change: forward, back, and what its journal says at every moment. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { Journal, journalFile, readJournalFile } from "../../../control/rollout/journal.ts";
import { changeNode, type NodeChange, rollBack } from "../../../control/rollout/rollback.ts";
import { BACK, directionOf, FORWARD } from "../../../control/rollout/steps.ts";

type Name = (typeof FORWARD)[number] | (typeof BACK)[number];

/** A change whose named steps fail; `done` gets each step that was run. */
function changeWith(failing: readonly Name[], done: Name[], more: Partial<NodeChange<Name>> = {}): NodeChange<Name> {
  const steps = (names: readonly Name[]) =>
    names.map((name) => ({
      name,
      async run() {
        done.push(name);
        if (failing.includes(name)) throw new Error(`${name} broke`);
      },
    }));
  return { forward: steps(FORWARD), back: steps(BACK), record: (_name, work) => work(), ...more };
}

describe("a node's change", () => {
  it.each([
    ["passes", [], { kind: "passed" }, [...FORWARD]],
    ["goes back from its gate", ["gate"], { kind: "rolled_back", reason: "gate broke" }, [...FORWARD, ...BACK]],
    ["goes back from its first step", ["switch"], { kind: "rolled_back", reason: "switch broke" }, ["switch", ...BACK]],
    [
      "is stuck when the way back fails, too",
      ["restart", "restart-former"],
      { kind: "stuck", reason: "restart broke", back: "restart-former broke" },
      ["switch", "restart", "back", "restart-former"],
    ],
  ] as const)("%s", async (_name, failing, end, order) => {
    const done: Name[] = [];
    expect(await changeNode(changeWith(failing, done))).toMatchObject(end);
    expect(done).toEqual(order);
  });

  it("is stuck where there is nothing to go back to", async () => {
    const done: Name[] = [];
    const end = await changeNode(changeWith(["gate"], done, { back: null }));
    expect(end).toMatchObject({ kind: "stuck", reason: "gate broke", back: null, cause: new Error("gate broke") });
  });

  it("does not go back for an error that the former program would not mend", async () => {
    const done: Name[] = [];
    await expect(changeNode(changeWith(["restart"], done, { isUnrelated: () => true }))).rejects.toThrow(
      "restart broke",
    );
    expect(done).toEqual(["switch", "restart"]);
  });

  it("goes on with the way back alone", async () => {
    const done: Name[] = [];
    expect(await rollBack(changeWith([], done), "cut off")).toEqual({ kind: "rolled_back", reason: "cut off" });
    expect(done).toEqual(BACK);
  });
});

describe("the journal of a change", () => {
  const step = z.strictObject({
    name: z.enum([...FORWARD, ...BACK]),
    state: z.enum(["begun", "done", "failed"]),
    at: z.string(),
  });
  const schema = z.strictObject({ node: z.string(), steps: z.array(step) });
  const now = () => new Date("2030-01-31T12:00:00Z");

  async function file(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "cairn-journal-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return join(folder, "rollout.json");
  }

  it("names each step before its work and after it, so that a kill at any moment leaves the way on", async () => {
    const path = await file();
    const journal = await Journal.begin<Name, z.infer<typeof schema>>(journalFile(path), now, {
      node: "one",
      steps: [],
    });
    const seen: (readonly [Name, string])[] = [];
    const last: unknown[] = [];
    const change = changeWith(["gate"], [], {
      record: (name, work) =>
        journal.step(name, async () => {
          // What a kill at this moment would leave.
          const remaining = schema.parse(JSON.parse(await readFile(path, "utf8")));
          seen.push([name, directionOf(remaining.steps, "new")]);
          last.push(remaining.steps.at(-1));
          await work();
        }),
    });
    expect(await changeNode(change)).toMatchObject({ kind: "rolled_back" });
    expect(seen).toEqual([
      ["switch", "forward"],
      ["restart", "forward"],
      ["gate", "forward"],
      ["back", "back"],
      ["restart-former", "back"],
      ["gate-former", "back"],
    ]);
    expect(last).toEqual(seen.map(([name]) => ({ name, state: "begun", at: now().toISOString() })));
    const remaining = await readJournalFile(path, schema, "");
    expect(remaining?.steps.filter(({ state }) => state === "failed").map(({ name }) => name)).toEqual(["gate"]);
    await journal.close();
    expect(await readJournalFile(path, schema, "")).toBeNull();
  });

  it("that cannot be understood is refused, with the way out", async () => {
    const path = await file();
    await writeFile(path, '{"node": 1}');
    await expect(readJournalFile(path, schema, "Remove it.")).rejects.toMatchObject({
      code: "INFRA_STATE_UNREADABLE",
      details: { hint: "Remove it." },
    });
  });
});

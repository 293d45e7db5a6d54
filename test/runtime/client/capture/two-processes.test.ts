import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { captureNode } from "../../../support/capture-node.ts";

const SENDER = fileURLToPath(new URL("../../../support/capture-sender.ts", import.meta.url));
const BATCHES = 150;
/** Requests for which the node is as it is, and then it is otherwise: both processes write, replay and remove at once. */
const SPELL = 25;
const SPELLS = ["cut", 200, 503, 200, "cut-after", 200] as const;
/** Then it stays. */
const LAST = 18 * SPELL;

test("2 processes write 300 batches to one spool and replay it while the node comes and goes: each is there once, in its writer's order", async () => {
  const spool = await mkdtemp(join(tmpdir(), "cairn-spool-"));
  onTestFinished(() => rm(spool, { recursive: true, force: true }));
  const node = await captureNode();
  let asked = 0;
  node.answer = () => {
    const spell = Math.floor(asked / SPELL) % SPELLS.length;
    asked += 1;
    return asked > LAST ? 200 : (SPELLS[spell] ?? 200);
  };
  const run = promisify(execFile);
  const ended = await Promise.all(
    ["one", "other"].map((name) => run(process.execPath, [SENDER, node.url, spool, name, String(BATCHES)])),
  );

  expect(ended.map(({ stdout }) => stdout)).toEqual(["", ""]);
  const sent = (name: string, rest: number) =>
    Array.from({ length: BATCHES }, (_, n) => n)
      .filter((n) => n % 2 === rest)
      .map((n) => `${name}/${n}`);
  const shared = node.stored.get("shared") ?? [];
  for (const name of ["one", "other"]) {
    expect(node.stored.get(name)).toEqual(sent(name, 0));
    expect(shared.filter((id) => id.startsWith(`${name}/`))).toEqual(sent(name, 1));
  }
  expect(shared).toHaveLength(BATCHES);
  for (const { events } of node.batches) {
    for (const { event_id, content } of events) expect(content).toMatch(`${event_id.replace("/", " says ")}: xxx`);
  }
  expect((await readdir(spool)).sort()).toEqual(["bad", "dead"]);
  for (const kind of ["bad", "dead"]) expect(await readdir(join(spool, kind))).toEqual([]);
});

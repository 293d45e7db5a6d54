import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createReachability } from "../../../../runtime/app/mesh/reachability.ts";
import { RuntimeError } from "../../../../runtime/contracts/errors.ts";
import type { Member, NodeEntry } from "../../../../runtime/contracts/node-entry.ts";
import { entryOf } from "../../../support/node-entries.ts";

const member = (name: string): Member => ({
  entry: entryOf(generateKeyPairSync("ed25519"), { name }),
  state: "online",
  heard_at: "2026-01-01T00:00:00.000Z",
  hosts: [],
  shares_database: true,
});
const [own, attic, cellar] = [member("own"), member("attic"), member("cellar")];
const START = Date.parse("2026-11-26T12:00:00Z");

const LIMIT = { timeoutMs: 1_000 };

/** Each question takes 400 ms; `ask` gives the time of the one that is asked. */
function reachability(ask: (entry: NodeEntry) => string | undefined | Error, members = [own, attic, cellar]) {
  let ms = 0;
  return createReachability({
    id: own.entry.id,
    members: async () => members,
    clock: { now: () => new Date(START + ms), monotonic: () => ms },
    async ask(entry, { signal }) {
      signal?.throwIfAborted();
      const said = ask(entry);
      ms += 400;
      if (said instanceof Error) throw said;
      return said === undefined ? {} : { time: said };
    },
  });
}

describe("asking the other nodes who they are", () => {
  it("tells how long each took, how far its clock is ahead, or why it has not answered", async () => {
    const refused = new RuntimeError("RUNTIME_NOT_RUNNING", "No node answers.", { hint: "Start it." });
    const { ping } = reachability(
      ({ name }) => (name === "attic" ? new Date(START + 60_200).toISOString() : refused),
      [own, attic],
    );
    expect(await ping(LIMIT)).toEqual([{ id: attic.entry.id, name: "attic", ms: 400, clock_ahead_s: 60, error: null }]);
    const other = reachability(() => refused, [own, cellar]);
    expect(await other.ping(LIMIT)).toMatchObject([
      { name: "cellar", ms: null, clock_ahead_s: null, error: { code: "RUNTIME_NOT_RUNNING", hint: "Start it." } },
    ]);
    expect(await reachability(() => undefined, [attic]).ping(LIMIT)).toMatchObject([{ ms: 400, clock_ahead_s: null }]);
  });

  it("takes no more of an answer than it shows: a time that is none, and words without end", async () => {
    expect(await reachability(() => "noon", [attic]).ping(LIMIT)).toMatchObject([{ ms: 400, clock_ahead_s: null }]);
    const long = new RuntimeError("RUNTIME_INTERNAL", "x".repeat(100_000), { hint: "y".repeat(100_000) });
    const [refused] = await reachability(() => long, [attic]).ping(LIMIT);
    expect(JSON.stringify(refused).length).toBeLessThan(3_000);
  });

  it("asks one by its name or id, and itself never", async () => {
    const asked: string[] = [];
    const { ping } = reachability(({ name }) => void asked.push(name));
    await ping({ ...LIMIT, node: "attic" });
    await ping({ ...LIMIT, node: cellar.entry.id });
    expect(asked).toEqual(["attic", "cellar"]);
    await expect(ping({ ...LIMIT, node: "own" })).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await ping(LIMIT);
    expect(asked.slice(2)).toEqual(["attic", "cellar"]);
  });

  it("asks a fleet of hundreds, and ends when the caller does", async () => {
    const fleet = Array.from({ length: 150 }, (_, n) => member(`node-${n}`));
    expect(await reachability(() => undefined, [own, ...fleet]).ping(LIMIT)).toHaveLength(150);
    const ended = AbortSignal.abort(new Error("enough"));
    await expect(reachability(() => undefined).ping({ ...LIMIT, signal: ended })).rejects.toThrow("enough");
  });
});

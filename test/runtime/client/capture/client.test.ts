import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type CaptureClientOptions, createCaptureClient, type SpoolProblem } from "../../../../runtime/client/index.ts";
import type { CaptureBatch } from "../../../../runtime/contracts/capture.ts";
import { captureNode } from "../../../support/capture-node.ts";

// The files of the lane share their modules: none of this one is what another has imported, or the other way round.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

/** When set, a file that is written gets half of its text, and then there is no room. */
const disk = vi.hoisted(() => ({ full: false }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    async open(...args: Parameters<typeof real.open>) {
      const file = await real.open(...args);
      if (!disk.full || args[1] !== "wx") return file;
      const write = file.writeFile.bind(file);
      file.writeFile = async (data) => {
        await write(String(data).slice(0, String(data).length / 2));
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      };
      return file;
    },
  };
});

async function setUp(options: Partial<CaptureClientOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), "cairn-spool-"));
  onTestFinished(() => {
    disk.full = false;
    return rm(directory, { recursive: true, force: true });
  });
  const node = await captureNode();
  const spoolDirectory = join(directory, "spool");
  const problems: SpoolProblem[] = [];
  const create = (more: Partial<CaptureClientOptions> = {}) =>
    createCaptureClient({
      baseUrl: node.url,
      token: "t",
      spoolDirectory,
      onProblem: (problem) => problems.push(problem),
      ...options,
      ...more,
    });
  const names = async (sub = "") =>
    (await readdir(join(spoolDirectory, sub)).catch(() => [])).filter((name) => name.endsWith(".json")).sort();
  return { node, spoolDirectory, problems, create, client: create(), names };
}

const batch = (session: string, ...ids: readonly (string | number)[]): CaptureBatch => ({
  session_key: session,
  agent: "claude-code",
  channel: "claude-code",
  events: ids.map((id) => ({ event_id: String(id), role: "user", content: `said ${id}` })),
});

describe("delivering", () => {
  test("posts a batch, and leaves nothing behind", async () => {
    const { node, client, spoolDirectory } = await setUp();
    const { deliveries, replay } = await client.send({ ...batch("s", 1, 2), finalize: true });
    expect(deliveries).toMatchObject([{ outcome: "stored", result: { inserted: 2, finalized: true } }]);
    expect(replay).toEqual({ stored: 0, dead: 0, waiting: 0 });
    expect(node.requests).toEqual([{ session: "s", events: ["1", "2"], finalize: true }]);
    await expect(stat(spoolDirectory)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("splits 1,234 events and 20 MiB into requests that the node takes, in order, the last one finalizing", async () => {
    const { node, client } = await setUp();
    const many = batch("many", ...Array.from({ length: 1_234 }, (_, n) => n));
    await client.send({ ...many, finalize: true });
    expect(node.requests.map(({ events, finalize }) => [events.length, finalize])).toEqual([
      [500, false],
      [500, false],
      [234, true],
    ]);
    expect(node.stored.get("many")).toEqual(many.events.map(({ event_id }) => event_id));
    const large = batch("large", 1, 2, 3, 4);
    const events = large.events.map((event) => ({ ...event, tool_args: { text: "x".repeat(5 * 1024 * 1024) } }));
    await client.send({ ...large, events });
    expect(node.requests.slice(3).map(({ events }) => events.length)).toEqual([1, 1, 1, 1]);
  });

  test("finalizes without an event", async () => {
    const { node, client } = await setUp();
    await client.send({ ...batch("s"), finalize: true });
    expect(node.requests).toEqual([{ session: "s", events: [], finalize: true }]);
  });
});

describe("keeping what cannot be delivered", () => {
  test.each([500, 502, 503, 504, 401, 429, 408] as const)(
    "after %d the batch waits, and is delivered before the next",
    async (status) => {
      const { node, client, names } = await setUp();
      node.answer = () => status;
      const { deliveries } = await client.send(batch("s", 1));
      expect(deliveries).toMatchObject([{ outcome: "spooled", reason: expect.stringContaining(String(status)) }]);
      expect(await names()).toHaveLength(1);
      node.answer = () => 200;
      const again = await client.send(batch("s", 2));
      expect(again).toMatchObject({ deliveries: [{ outcome: "stored" }], replay: { stored: 1, waiting: 0 } });
      expect(node.stored.get("s")).toEqual(["1", "2"]);
      expect(await names()).toEqual([]);
    },
  );

  test.each([
    ["nobody listens", { baseUrl: "http://127.0.0.1:1" }, "ECONNREFUSED"],
    ["the name is unknown", { baseUrl: "http://node.invalid:7433" }, "EAI_AGAIN"],
  ])("when %s", async (_name, options) => {
    const { client, names } = await setUp(options);
    expect((await client.send(batch("s", 1))).deliveries).toMatchObject([{ outcome: "spooled" }]);
    expect(await names()).toHaveLength(1);
  });

  test("when the connection breaks after the node has stored it, it is delivered again and stored once", async () => {
    const { node, client } = await setUp();
    node.answer = () => "cut-after";
    expect((await client.send(batch("s", 1, 2))).deliveries).toMatchObject([{ outcome: "spooled" }]);
    node.answer = () => 200;
    expect(await client.replay()).toEqual({ stored: 1, dead: 0, waiting: 0 });
    expect(node.stored.get("s")).toEqual(["1", "2"]);
  });

  test("when the node does not answer before the deadline, or the caller's time is over", async () => {
    const { node, create, names } = await setUp();
    node.answer = () => "silent";
    const slow = await create({ timeoutMs: 50 }).send(batch("s", 1));
    expect(slow.deliveries).toMatchObject([{ outcome: "spooled", reason: "no answer within 0.05 s" }]);
    const stopped = await create().send(batch("t", 1), { signal: AbortSignal.timeout(50) });
    expect(stopped.deliveries).toMatchObject([{ outcome: "spooled" }]);
    expect(await names()).toHaveLength(2);
  });

  test("when something else listens at the address", async () => {
    const page = async () => new Response("<html>It works!</html>", { status: 200 });
    const { client, names } = await setUp({ fetch: page });
    expect((await client.send(batch("s", 1))).deliveries).toMatchObject([
      { outcome: "spooled", reason: "the answer is not that of a node" },
    ]);
    expect(await names()).toHaveLength(1);
  });

  test("an unavailable node is asked once, however many batches wait", async () => {
    const { node, client, names } = await setUp();
    let asked = 0;
    node.answer = () => {
      asked += 1;
      return 503;
    };
    for (let n = 0; n < 5; n += 1) await client.send(batch(`s${n}`, n));
    expect(asked).toBe(5);
    expect(await names()).toHaveLength(5);
  });

  test("at most 50 of the oldest files are replayed before a write; a session that still waits is not overtaken", async () => {
    const { node, client, names } = await setUp();
    node.answer = () => 503;
    for (let n = 0; n < 60; n += 1) await client.send(batch(n < 55 ? "long" : "short", n));
    node.answer = () => 200;
    const first = await client.send(batch("short", 60));
    expect(first.replay).toMatchObject({ stored: 50, waiting: 11 });
    expect(first.deliveries).toMatchObject([{ outcome: "spooled", reason: "earlier batches of the session wait" }]);
    expect(node.stored.has("short")).toBe(false);
    const second = await client.send(batch("other", 1));
    expect(second).toMatchObject({ replay: { stored: 11, waiting: 0 }, deliveries: [{ outcome: "stored" }] });
    expect(node.stored.get("long")).toEqual(Array.from({ length: 55 }, (_, n) => String(n)));
    expect(node.stored.get("short")).toEqual(["55", "56", "57", "58", "59", "60"]);
    expect(await names()).toEqual([]);
  });

  test("a batch that the node chokes on (500) holds up its own session and no other", async () => {
    const { node, client } = await setUp();
    node.answer = () => 503;
    for (const [session, id] of [
      ["bad", 1],
      ["good", 1],
      ["bad", 2],
      ["good", 2],
    ] as const)
      await client.send(batch(session, id));
    node.answer = ({ session_key }) => (session_key === "bad" ? 500 : 200);
    expect(await client.replay()).toMatchObject({ stored: 2, dead: 0, waiting: 2 });
    expect(node.stored.get("good")).toEqual(["1", "2"]);
    node.answer = () => 200;
    await client.replay();
    expect(node.stored.get("bad")).toEqual(["1", "2"]);
  });

  test.each(["silent", "cut"] as const)(
    "a batch that the node never answers (%s) holds up its own session alone; a node that answers none is left in peace",
    async (fault) => {
      const { node, client } = await setUp();
      // The deadline of a request runs out when the node has decided never to answer it.
      const deadlines: AbortController[] = [];
      vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
        deadlines.push(new AbortController());
        return deadlines.at(-1)?.signal ?? AbortSignal.abort();
      });
      const never = () => {
        if (fault === "silent") deadlines.at(-1)?.abort(new DOMException("too late", "TimeoutError"));
        return fault;
      };
      node.answer = () => 503;
      for (const [session, id] of [
        ["bad", 1],
        ["good", 1],
        ["bad", 2],
        ["good", 2],
      ] as const) {
        await client.send(batch(session, id));
      }
      node.answer = ({ session_key }) => (session_key === "bad" ? never() : 200);
      expect(await client.replay()).toMatchObject({ stored: 2, dead: 0, waiting: 2 });
      expect(node.stored.get("good")).toEqual(["1", "2"]);
      expect((await client.send(batch("new", 1))).deliveries).toMatchObject([{ outcome: "stored" }]);
      node.answer = () => 200;
      await client.replay();
      expect(node.stored.get("bad")).toEqual(["1", "2"]);

      node.answer = () => 503;
      for (let n = 0; n < 5; n += 1) await client.send(batch(`s${n}`, n));
      let asked = 0;
      node.answer = () => {
        asked += 1;
        return never();
      };
      expect(await client.replay()).toMatchObject({ stored: 0, waiting: 5 });
      expect(asked).toBe(2);
    },
  );

  test("4 clients that replay the same 40 files at once deliver each of them, in order, and remove them", async () => {
    const { node, create, client, names, problems } = await setUp();
    node.answer = () => 503;
    for (let n = 0; n < 40; n += 1) await client.send(batch(`s${n % 3}`, n));
    node.answer = () => 200;
    const reports = await Promise.all(Array.from({ length: 4 }, () => create().replay()));
    expect(reports.every(({ dead }) => dead === 0)).toBe(true);
    expect(await names()).toEqual([]);
    expect(problems).toEqual([]);
    for (const session of [0, 1, 2]) {
      const expected = Array.from({ length: 40 }, (_, n) => n).filter((n) => n % 3 === session);
      expect(node.stored.get(`s${session}`)).toEqual(expected.map(String));
    }
  });

  test("the order stays when the clock is set back", async () => {
    let now = 2_000_000;
    const { node, client } = await setUp({ now: () => now });
    node.answer = () => 503;
    for (const id of [1, 2, 3]) {
      await client.send(batch("s", id));
      now -= 500_000;
    }
    node.answer = () => 200;
    await client.replay();
    expect(node.stored.get("s")).toEqual(["1", "2", "3"]);
  });

  test("in any sequence of answers nothing is lost, doubled or out of order (40 sequences)", async () => {
    const answers = fc.constantFrom<200 | 500 | 503 | "cut" | "cut-after">(200, 500, 503, "cut", "cut-after");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 12 }),
        fc.array(answers, { maxLength: 30 }),
        async (sessions, sequence) => {
          const { node, create } = await setUp();
          const queue = [...sequence];
          node.answer = () => queue.shift() ?? 200;
          const expected = new Map<string, string[]>();
          for (const [n, session] of sessions.entries()) {
            expected.set(session, [...(expected.get(session) ?? []), String(n)]);
            // Another process each time.
            await create().send(batch(session, n));
          }
          node.answer = () => 200;
          expect((await create().replay()).waiting).toBe(0);
          expect(node.stored).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("what the node refuses", () => {
  test.each([400, 403, 404, 409, 413, 422] as const)(
    "with %d goes to dead/, is reported, and can be queued again",
    async (status) => {
      const { node, client, names, problems, spoolDirectory } = await setUp();
      node.answer = () => status;
      const { deliveries } = await client.send(batch("s", 1));
      expect(deliveries).toMatchObject([{ outcome: "dead", status, error: { code: "RUNTIME_INVALID_REQUEST" } }]);
      expect(problems).toMatchObject([{ kind: "dead", status }]);
      expect(await names()).toEqual([]);
      const [file = ""] = await names("dead");
      expect(JSON.parse(await readFile(join(spoolDirectory, "dead", file), "utf8"))).toMatchObject({
        version: 1,
        batch: batch("s", 1),
        refused: { status, error: { message: "no" }, at: expect.stringMatching(/^\d{4}-/) },
      });
      node.answer = () => 200;
      expect(await client.requeueDead()).toBe(1);
      expect(await client.send(batch("s", 2))).toMatchObject({ replay: { stored: 1, waiting: 0 } });
      expect(node.stored.get("s")).toEqual(["1", "2"]);
      expect(await names("dead")).toEqual([]);
    },
  );

  test("at a replay goes to dead/ too, and the ones behind it are delivered", async () => {
    const { node, client, names, problems } = await setUp();
    node.answer = () => 503;
    for (const id of [1, 2, 3]) await client.send(batch("s", id));
    node.answer = ({ events }) => (events[0]?.event_id === "2" ? 400 : 200);
    expect(await client.replay()).toEqual({ stored: 2, dead: 1, waiting: 0 });
    expect(node.stored.get("s")).toEqual(["1", "3"]);
    expect(await names("dead")).toHaveLength(1);
    expect(problems).toMatchObject([{ kind: "dead", status: 400 }]);
  });

  test("is moved there even when there is no room for the reason", async () => {
    const { node, client, names } = await setUp();
    node.answer = () => 503;
    await client.send(batch("s", 1));
    node.answer = () => 400;
    disk.full = true;
    expect(await client.replay()).toMatchObject({ dead: 1, waiting: 0 });
    expect(await names("dead")).toHaveLength(1);
  });
});

describe("the spool directory", () => {
  test("and its files are for their owner alone, also where the directory was open before", async () => {
    const { node, client, spoolDirectory, names } = await setUp();
    await mkdir(spoolDirectory, { recursive: true });
    await chmod(spoolDirectory, 0o755);
    node.answer = ({ session_key }) => (session_key === "dead" ? 400 : 503);
    await client.send(batch("s", 1));
    node.answer = ({ session_key }) => (session_key === "dead" ? 400 : 200);
    await client.send(batch("dead", 1));
    node.answer = () => 503;
    await client.send(batch("s", 2));
    const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    expect(await mode(spoolDirectory)).toBe("700");
    expect(await mode(join(spoolDirectory, "dead"))).toBe("700");
    for (const sub of ["", "dead"]) {
      const files = await names(sub);
      expect(files).toHaveLength(1);
      for (const name of files) expect(await mode(join(spoolDirectory, sub, name))).toBe("600");
    }
  });

  test("a file that is truncated, empty, garbage, foreign or unreadable is set aside and blocks nothing (6 files)", async () => {
    const { node, client, names, problems, spoolDirectory } = await setUp();
    node.answer = () => 503;
    for (let n = 0; n < 7; n += 1) await client.send(batch(`s${n}`, n));
    const files = (await names()).map((name) => join(spoolDirectory, name));
    const at = (n: number) => files[n] ?? "";
    await truncate(at(0), 40);
    await truncate(at(1), 0);
    await writeFile(at(2), Buffer.from([0xff, 0x00, 0x80, 0x7b]));
    await writeFile(at(3), '{"version":9,"batch":{}}');
    await writeFile(at(4), '{"version":1,"batch":{"events":"none"}}');
    await rm(at(5));
    await symlink("/etc/passwd", at(5));
    await writeFile(join(spoolDirectory, "notes.txt"), "mine");
    node.answer = () => 200;
    expect(await client.replay()).toEqual({ stored: 1, dead: 0, waiting: 0 });
    expect([...node.stored.keys()]).toEqual(["s6"]);
    expect(problems.map(({ kind }) => kind)).toEqual(Array(6).fill("bad-file"));
    expect(await names("bad")).toHaveLength(6);
    expect(await readFile(join(spoolDirectory, "notes.txt"), "utf8")).toBe("mine");
    expect(await client.status()).toMatchObject({ waiting: 0, dead: 0, bad: 6, bytes: 0, oldest: null });
  });

  test("what a killed writer left is ignored, and removed after an hour", async () => {
    const { client, spoolDirectory, node } = await setUp();
    await mkdir(spoolDirectory, { mode: 0o700 });
    const [young, old] = [join(spoolDirectory, ".tmp-young"), join(spoolDirectory, ".tmp-old")];
    for (const path of [young, old]) await writeFile(path, '{"version":1,');
    await utimes(old, new Date(0), new Date(0));
    expect((await client.send(batch("s", 1))).replay).toMatchObject({ stored: 0, waiting: 0 });
    expect(node.requests).toHaveLength(1);
    expect(await readdir(spoolDirectory)).toEqual([".tmp-young"]);
  });

  test("when it is full refuses with an error that says so, keeps what it has, and takes again once there is room", async () => {
    const { node, create, client, names, problems } = await setUp({ maxSpoolBytes: 2_000 });
    node.answer = () => 503;
    let kept = 0;
    const failure = await (async () => {
      for (;;) {
        await client.send(batch("s", kept));
        kept += 1;
      }
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "MEMORY_SPOOL_FULL",
      retryable: true,
      message: expect.stringContaining("2000"),
    });
    expect(kept).toBeGreaterThan(3);
    expect(await names()).toHaveLength(kept);
    expect(problems.map(({ kind }) => kind)).toEqual(["nearly-full"]);
    node.answer = () => 200;
    await create().replay();
    node.answer = () => 503;
    // The same client: it looks again before it says no.
    expect((await client.send(batch("s", kept))).deliveries).toMatchObject([{ outcome: "spooled" }]);
    node.answer = () => 200;
    await client.replay();
    expect(node.stored.get("s")).toEqual(Array.from({ length: kept + 1 }, (_, n) => String(n)));
  });

  test("on a full disk refuses with an error that says so, and leaves no half file", async () => {
    const { node, client, names, spoolDirectory } = await setUp();
    node.answer = () => 503;
    await client.send(batch("s", 1));
    disk.full = true;
    await expect(client.send(batch("s", 2))).rejects.toMatchObject({
      code: "MEMORY_SPOOL_FULL",
      message: expect.stringContaining("no room on the disk"),
    });
    expect((await readdir(spoolDirectory)).sort()).toEqual([...(await names()), "bad", "dead"].sort());
    disk.full = false;
    node.answer = () => 200;
    await client.send(batch("s", 2));
    expect(node.stored.get("s")).toEqual(["1", "2"]);
  });

  test("that cannot be made is an error that names it", async () => {
    const { node, create, spoolDirectory } = await setUp();
    node.answer = () => 503;
    await writeFile(spoolDirectory, "a file");
    await expect(create().send(batch("s", 1))).rejects.toMatchObject({
      code: "MEMORY_SPOOL_UNWRITABLE",
      message: expect.stringContaining(spoolDirectory),
    });
  });

  test("tells its state", async () => {
    const { node, client } = await setUp({ now: () => Date.parse("2026-03-01T00:00:00Z") });
    node.answer = ({ session_key }) => (session_key === "dead" ? 400 : 503);
    await client.send(batch("dead", 1));
    await client.send(batch("s", 1));
    expect(await client.status()).toMatchObject({ waiting: 1, dead: 1, bad: 0, oldest: "2026-03-01T00:00:00.000Z" });
    expect((await client.status()).bytes).toBeGreaterThan(100);
  });
});

/** The chain over the audit log: whatever is changed in its files is found, and what a node may do with them is not. */

import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { verifyAudit } from "../../../control/audit/verify-audit.ts";
import { createAuditFile, rotateAudit } from "../../../runtime/plugins/hooks/safety/index.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const NEVER = new AbortController().signal;
const FIRST = "2026-03-01.jsonl";
const SECOND = "2026-03-02.jsonl";

async function log(days: Readonly<Record<string, number>> = { "2026-03-01": 3, "2026-03-02": 3 }) {
  const directory = await mkdtemp(join(tmpdir(), "cairn-chain-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const time = { now: "" };
  const start = () =>
    createAuditFile({ directory, clock: { now: () => new Date(time.now), monotonic: () => 0 }, logger: quietLogger });
  let file = start();
  const write = async (day: string, count = 1) => {
    time.now = `${day}T10:00:00Z`;
    for (let n = 0; n < count; n += 1) await file.append({ event: "call", tool: "shell", n });
  };
  for (const [day, count] of Object.entries(days)) await write(day, count);
  return {
    directory,
    path: (name: string) => join(directory, name),
    write,
    restart: () => {
      file = start();
    },
    verify: (includes?: string) => verifyAudit(directory, { includes, signal: NEVER }),
  };
}

describe("an audit log with a file that cannot be read", () => {
  it("goes on from the newest one that can, says so, and is reported as broken", async () => {
    const { directory, path, write, restart, verify } = await log();
    const day = gzipSync(await readFile(path(SECOND)));
    await rm(path(SECOND));
    await writeFile(path(`${SECOND}.gz`), day.subarray(0, day.length - 12));
    restart();
    await write("2026-03-03", 2);
    const lines = (await readFile(path("2026-03-03.jsonl"), "utf8")).trimEnd().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { event: "audit.gap", file: `${SECOND}.gz`, reason: "Z_BUF_ERROR" },
      { event: "call", n: 0 },
      { event: "call", n: 1 },
    ]);
    const problems = [{ file: `${SECOND}.gz`, line: null, reason: expect.stringMatching(/^cannot be read: /) }];
    expect(await verify()).toMatchObject({ problems });
    restart();
    await write("2026-03-03");
    expect(await verify()).toMatchObject({ problems });
    await writeFile(path(`${SECOND}.gz`), day);
    expect((await verify()).problems).toEqual([
      { file: "2026-03-03.jsonl", line: 1, reason: expect.stringMatching(/^does not go on from the file before it/) },
    ]);
    expect(await readdir(directory)).toHaveLength(3);
  });

  it("goes on where none can be read, and opens no more than two that have no hashes", async () => {
    const { path, write, restart, verify } = await log({});
    await writeFile(path("2026-02-26.jsonl.gz"), "no gzip");
    for (const day of ["27", "28"]) await writeFile(path(`2026-02-${day}.jsonl`), '{"event":"call"}\n');
    await write("2026-03-01");
    expect(await readFile(path(FIRST), "utf8")).not.toContain("audit.gap");
    await rm(path(FIRST));
    for (const day of ["27", "28"]) await writeFile(path(`2026-02-${day}.jsonl.gz`), "no gzip");
    for (const day of ["27", "28"]) await rm(path(`2026-02-${day}.jsonl`));
    restart();
    await write("2026-03-01");
    expect((await readFile(path(FIRST), "utf8")).match(/"audit.gap"/g)).toHaveLength(3);
    expect(await verify()).toMatchObject({ verified: 4 });
    expect((await verify()).problems.map(({ file }) => file.slice(0, 10))).toEqual([
      "2026-02-26",
      "2026-02-27",
      "2026-02-28",
    ]);
  });
});

describe("an audit log that is as it was written", () => {
  it("is unchanged over days, restarts, compression and the removal of old days", async () => {
    const { directory, verify, write, restart } = await log();
    restart();
    await write("2026-03-02");
    await write("2026-03-04", 2);
    const before = await verify();
    expect(before).toMatchObject({ files: 3, verified: 9, without_hash: 0, begins_later: false, problems: [] });
    const ages = { audit_retention: 100 * 86_400_000, audit_compress_after: 0 };
    await rotateAudit(directory, new Date("2026-03-05T12:00:00Z"), ages);
    expect(await readdir(directory)).toEqual(["2026-03-01.jsonl.gz", "2026-03-02.jsonl.gz", "2026-03-04.jsonl.gz"]);
    restart();
    await write("2026-03-05");
    await rm(join(directory, "2026-03-01.jsonl.gz"));
    expect(await verify(before.head ?? "")).toMatchObject({ verified: 7, begins_later: true, problems: [] });
  });

  it("begins where a log of an older version ends, which it covers", async () => {
    const { directory, path, write, verify } = await log({});
    await mkdir(directory, { recursive: true });
    const old = '{"at":"2026-03-01T09:00:00Z","event":"call"}\n';
    await writeFile(path("2026-02-28.jsonl"), old);
    await writeFile(path(FIRST), old + old);
    expect(await verify()).toMatchObject({
      verified: 0,
      head: null,
      problems: [{ file: FIRST, line: null, reason: expect.stringMatching(/^no line has a hash/) }],
    });
    await write("2026-03-01");
    expect(await verify()).toMatchObject({ verified: 1, without_hash: 3, problems: [] });
    await writeFile(path(FIRST), (await readFile(path(FIRST), "utf8")).replace('"call"', '"cold"'));
    expect((await verify()).problems).toEqual([{ file: FIRST, line: 3, reason: "lines 1 to 3 were changed" }]);
  });

  it("covers a line that a crash has cut off, and reports it until the next one is written", async () => {
    const { path, write, restart, verify } = await log();
    const whole = await readFile(path(SECOND));
    await truncate(path(SECOND), whole.length - 20);
    expect((await verify()).problems).toEqual([{ file: SECOND, line: 3, reason: "ends in the middle of a line" }]);
    restart();
    await write("2026-03-02");
    expect(await verify()).toMatchObject({ verified: 6, without_hash: 1, problems: [] });
  });

  it("goes on where the clock was set back a day", async () => {
    const { write, restart, verify } = await log();
    await write("2026-03-01", 2);
    restart();
    await write("2026-03-02", 2);
    expect(await verify()).toMatchObject({ verified: 10, problems: [] });
  });
});

describe("a change of the audit log is found", () => {
  it.each([
    ["several days", 2],
    ["days of one line", 1],
  ])(
    "of any single byte of %s",
    async (_, lines) => {
      const { path, verify } = await log({ "2026-03-01": lines, "2026-03-02": lines });
      const kept = { [FIRST]: await readFile(path(FIRST)), [SECOND]: await readFile(path(SECOND)) };
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(FIRST, SECOND),
          fc.nat(),
          fc.integer({ min: 1, max: 255 }),
          async (name, at, by) => {
            const original = kept[name] ?? Buffer.alloc(0);
            const bytes = Buffer.from(original);
            const index = at % bytes.length;
            bytes[index] = (bytes[index] ?? 0) ^ by;
            await writeFile(path(name), bytes);
            const { problems } = await verifyAudit(join(path(name), ".."), { signal: NEVER });
            await writeFile(path(name), original);
            expect(problems, `byte ${index} of ${name}`).not.toEqual([]);
          },
        ),
        { numRuns: 150 },
      );
      expect((await verify()).problems).toEqual([]);
    },
    120_000,
  );

  it("of each byte of a log of one line", async () => {
    const { path, verify } = await log({ "2026-03-01": 1 });
    const original = await readFile(path(FIRST));
    for (let at = 0; at < original.length; at += 1) {
      const bytes = Buffer.from(original);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(path(FIRST), bytes);
      expect((await verifyAudit(join(path(FIRST), ".."), { signal: NEVER })).problems, `byte ${at}`).not.toEqual([]);
    }
    await writeFile(path(FIRST), original);
    expect((await verify()).problems).toEqual([]);
  }, 120_000);

  it("where the first day has lost its hashes", async () => {
    const { path, verify } = await log({ "2026-03-01": 3, "2026-03-02": 2 });
    const text = await readFile(path(FIRST), "utf8");
    await writeFile(
      path(FIRST),
      text.replace(/(?:,"prev":"[0-9a-f]+")?,"hash":"[0-9a-f]+"/g, "").replace("shell", "todo"),
    );
    const reason = expect.stringMatching(/^does not go on from the file before it/);
    expect((await verify()).problems).toEqual([{ file: SECOND, line: 1, reason }]);
  });

  it.each<[string, (lines: string[]) => string[]]>([
    ["a line is gone", ([a = "", , c = ""]) => [a, c]],
    ["the first line is gone", ([, b = "", c = ""]) => [b, c]],
    ["two lines have changed places", ([a = "", b = "", c = ""]) => [a, c, b]],
    ["a line is there twice", ([a = "", b = "", c = ""]) => [a, b, b, c]],
    ["a line was added", ([a = "", b = "", c = ""]) => [a, '{"event":"call"}', b, c]],
    ["a line was added at the end", (lines) => [...lines, '{"event":"call"}']],
  ])("where %s", async (_, change) => {
    const { path, verify } = await log();
    const lines = (await readFile(path(FIRST), "utf8")).trimEnd().split("\n");
    await writeFile(path(FIRST), `${change(lines).join("\n")}\n`);
    const { problems } = await verify();
    expect(problems.map(({ file }) => file)).toContain(FIRST);
  });

  it("where a day was put between two that were one after the other", async () => {
    const { path, verify } = await log({ "2026-03-01": 2, "2026-03-03": 2 });
    const forged = await log({ "2026-03-01": 2, "2026-03-02": 2 });
    await copyFile(forged.path(FIRST), path(FIRST));
    expect((await verify()).problems).toEqual([]);
    await copyFile(forged.path(SECOND), path(SECOND));
    expect((await verify()).problems).toMatchObject([{ file: "2026-03-03.jsonl", line: 1 }]);
  });

  it("where a day, or the end of one, is gone", async () => {
    const { path, verify } = await log({ "2026-03-01": 2, "2026-03-02": 2, "2026-03-03": 2 });
    const whole = await readFile(path(SECOND), "utf8");
    await writeFile(path(SECOND), `${whole.split("\n")[0]}\n`);
    const reason = "does not go on from the file before it: lines or files are missing between them";
    expect((await verify()).problems).toEqual([{ file: "2026-03-03.jsonl", line: 1, reason }]);
    await rm(path(SECOND));
    expect((await verify()).problems).toEqual([{ file: "2026-03-03.jsonl", line: 1, reason }]);
  });

  it("where the end was cut off, or all was written anew, by a hash that was kept elsewhere", async () => {
    const { path, verify } = await log();
    const { head } = await verify();
    expect(await verify(head ?? "")).toMatchObject({ problems: [] });
    await rm(path(SECOND));
    expect(await verify()).toMatchObject({ problems: [] });
    expect((await verify(head ?? "")).problems).toMatchObject([
      { line: null, reason: expect.stringContaining(head ?? "") },
    ]);
  });

  it("in a compressed day, also where it cannot be read any more", async () => {
    const { path, verify } = await log();
    const text = await readFile(path(FIRST), "utf8");
    await rm(path(FIRST));
    await writeFile(path(`${FIRST}.gz`), gzipSync(text.replace("shell", "shall")));
    expect((await verify()).problems[0]).toMatchObject({ file: `${FIRST}.gz`, line: 1 });
    await writeFile(path(`${FIRST}.gz`), gzipSync(text).subarray(0, 60));
    expect((await verify()).problems[0]).toMatchObject({
      line: null,
      reason: expect.stringContaining("cannot be read"),
    });
  });

  it("not where a crash has left a day twice, once compressed", async () => {
    const { path, verify } = await log();
    await writeFile(path(`${FIRST}.gz`), gzipSync(await readFile(path(FIRST))));
    await copyFile(path(FIRST), path("copy"));
    await rename(path("copy"), path("2026-03-01.jsonl.gz.tmp"));
    expect(await verify()).toMatchObject({ files: 2, problems: [] });
  });
});

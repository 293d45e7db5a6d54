import { appendFileSync, copyFileSync, truncateSync } from "node:fs";
import { appendFile, mkdir, rename, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { linesBackward, linesForward, listLogFiles } from "../../../control/logs/log-files.ts";
import { type LogFilter, type LogLine, parseGrep } from "../../../control/logs/log-filter.ts";
import { follow, readPast } from "../../../control/logs/log-reader.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const NO_FILTER: LogFilter = {};

describe("lines of a file", () => {
  it("read backward are those read forward, in the other order", async () => {
    const path = join(await temporaryDirectory(), "cairn.log");
    const lineText = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.integer({ min: 65_000, max: 66_000 }).map((length) => "ä".repeat(length)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(lineText, { maxLength: 8 }), fc.boolean(), async (texts, ended) => {
        const lines = texts.map((text) => text.replace(/[\n\r]/g, ""));
        const content = lines.map((line) => `${line}\n`).join("") + (ended ? "" : "unfinished");
        await writeFile(path, content);
        const forward = await collect(linesForward(path, { unfinished: true }));
        expect(forward).toEqual(ended ? lines : [...lines, "unfinished"]);
        expect((await collect(linesBackward(path, Buffer.byteLength(content)))).reverse()).toEqual(forward);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the log that is there", () => {
  it("is read across rotated files, oldest first, whatever they are called", async () => {
    const dir = await temporaryDirectory();
    await writeLog(dir, "cairn.1.log", ["a", "b"], 1);
    await writeLog(dir, "cairn.2.log", ["c"], 2);
    await writeLog(dir, "cairn.10.log", ["d"], 3);
    await symlink("cairn.10.log", join(dir, "cairn.log"));
    await writeFile(join(dir, "audit.log"), '{"msg":"not ours"}\n');
    expect(await messages((await readPast(dir, NO_FILTER)).lines)).toEqual(["a", "b", "c", "d"]);
    expect(await messages((await readPast(dir, NO_FILTER, 3)).lines)).toEqual(["b", "c", "d"]);
    expect(await messages((await readPast(dir, NO_FILTER, 0)).lines)).toEqual([]);
  });

  it("is empty where there is none", async () => {
    const { lines, positions } = await readPast(join(await temporaryDirectory(), "logs"), NO_FILTER, 10);
    expect(await messages(lines)).toEqual([]);
    expect(positions.size).toBe(0);
  });

  it.each([
    ["level", { level: "warn" } as const, ["w", "e", "old number"]],
    ["agent", { agent: "main" }, ["e"]],
    ["pattern", { grep: parseGrep("OLD.*ber") }, ["old number"]],
    ["time", { since: new Date("2030-01-02T00:00:00Z") }, ["e", "old number"]],
  ])("is filtered by %s, from both ends", async (_name, filter, expected) => {
    const dir = await temporaryDirectory();
    const lines = [
      { level: "info", time: "2030-01-01T00:00:00Z", msg: "i" },
      { level: "warn", time: "2030-01-01T12:00:00Z", msg: "w" },
      { level: "error", time: "2030-01-02T00:00:00Z", agent: "main", msg: "e" },
      { level: 40, time: Date.parse("2030-01-03T00:00:00Z"), msg: "old number" },
    ];
    await writeFile(join(dir, "cairn.1.log"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await utimes(join(dir, "cairn.1.log"), new Date("2030-01-03T00:00:00Z"), new Date("2030-01-03T00:00:00Z"));
    expect(await messages((await readPast(dir, filter)).lines)).toEqual(expected);
    expect(await messages((await readPast(dir, filter, 50)).lines)).toEqual(expected);
  });

  it("passes on lines that are no JSON", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "cairn.1.log"), '{"msg":"a"}\n{"msg":"cut o\n    at somewhere\n');
    const texts = await collect((await readPast(dir, NO_FILTER, 10)).lines);
    expect(texts.map(({ text, fields }) => fields?.["msg"] ?? text)).toEqual([
      "a",
      '{"msg":"cut o',
      "    at somewhere",
    ]);
  });
});

describe("following the log", () => {
  it("shows what is added, whole lines only", async () => {
    const { dir, seen, until } = await following(["a"]);
    await appendFile(join(dir, "cairn.1.log"), '{"msg":"b"}\n{"ms');
    await until(2);
    await appendFile(join(dir, "cairn.1.log"), 'g":"c"}\n');
    await until(3);
    expect(seen).toEqual(["a", "b", "c"]);
  });

  it("goes on in the next numbered file, after the end of the one before", async () => {
    const { dir, seen, until } = await following(["a"]);
    await appendFile(join(dir, "cairn.1.log"), '{"msg":"b"}\n');
    await writeFile(join(dir, "cairn.2.log"), '{"msg":"c"}\n');
    await until(3);
    await appendFile(join(dir, "cairn.2.log"), '{"msg":"d"}\n');
    await until(4);
    expect(seen).toEqual(["a", "b", "c", "d"]);
  });

  it("survives a rotation that renames, without showing a line twice", async () => {
    const { dir, seen, until } = await following(["a"]);
    await rename(join(dir, "cairn.1.log"), join(dir, "cairn.1.log.1"));
    await writeFile(join(dir, "cairn.1.log"), '{"msg":"b"}\n');
    await until(2);
    expect(seen).toEqual(["a", "b"]);
  });

  it("survives a rotation that copies and empties, however quickly the file grows again", async () => {
    const { dir, seen, until } = await following(["a", "b"]);
    const log = join(dir, "cairn.1.log");
    const add = (text: string) => appendFile(log, `{"msg":"${text}"}\n`);
    await add("c");
    await until(3);
    // Between two looks, so that its end is in the copy alone.
    appendFileSync(log, '{"msg":"d"}\n');
    copyFileSync(log, `${log}.1`);
    truncateSync(log);
    for (const text of ["e", "f", "g", "h", "i", "j"]) appendFileSync(log, `{"msg":"${text}"}\n`);
    await until(10);
    expect([...seen].sort()).toEqual(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    // A copy that stands a while before the file is emptied.
    copyFileSync(log, `${log}.2`);
    await add("k");
    await until(11);
    truncateSync(log);
    await add("l");
    await until(12);
    expect(seen.slice(10)).toEqual(["k", "l"]);
  });

  it("starts again with a file that was emptied", async () => {
    const { dir, seen, until } = await following(["a long first line"]);
    await truncate(join(dir, "cairn.1.log"));
    await appendFile(join(dir, "cairn.1.log"), '{"msg":"b"}\n');
    await until(2);
    expect(seen).toEqual(["a long first line", "b"]);
  });

  it("waits for a log that is not there yet", async () => {
    const dir = join(await temporaryDirectory(), "logs");
    const stop = new AbortController();
    const lines = follow(dir, NO_FILTER, new Map(), stop.signal);
    const first = lines.next();
    await mkdir(dir);
    await writeFile(join(dir, "cairn.1.log"), '{"msg":"a"}\n');
    expect((await first).value?.fields).toEqual({ msg: "a" });
    stop.abort();
    expect((await lines.next()).done).toBe(true);
  });
});

async function following(start: readonly string[]) {
  const dir = await temporaryDirectory();
  await writeLog(dir, "cairn.1.log", start);
  const stop = new AbortController();
  const past = await readPast(dir, NO_FILTER, 10);
  const seen = await messages(past.lines);
  let wake = (): void => undefined;
  void (async () => {
    for await (const line of follow(dir, NO_FILTER, past.positions, stop.signal)) {
      seen.push(String(line.fields?.["msg"] ?? line.text));
      wake();
    }
  })();
  onTestFinished(() => stop.abort());
  const until = async (count: number): Promise<void> => {
    while (seen.length < count) {
      const next = Promise.withResolvers<void>();
      wake = next.resolve;
      await next.promise;
    }
  };
  return { dir, seen, until };
}

async function writeLog(dir: string, name: string, texts: readonly string[], second?: number): Promise<void> {
  await writeFile(join(dir, name), texts.map((msg) => `${JSON.stringify({ msg })}\n`).join(""));
  if (second === undefined) return;
  await utimes(join(dir, name), second, second);
}

async function messages(lines: AsyncIterable<LogLine>): Promise<string[]> {
  return (await collect(lines)).map(({ text, fields }) => String(fields?.["msg"] ?? text));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

it("lists no directory and no other log", async () => {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "cairn.log"));
  await writeFile(join(dir, "cairn.log.gz"), "");
  expect(await listLogFiles(dir)).toEqual([]);
});

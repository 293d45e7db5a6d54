import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openLogFile } from "../../../runtime/host/log-file.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cairn-log-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const read = (number: number) => readFile(join(directory, `cairn.${number}.log`), "utf8");
const files = async () => (await readdir(directory)).toSorted();

describe("the log file", () => {
  it("has every line in order, and goes on where it ended", async () => {
    for (const part of [0, 1]) {
      const file = await openLogFile({ directory });
      for (let line = 0; line < 500; line += 1) file.write(`${part} ${line}\n`);
      await file.close();
    }
    const expected = [0, 1].flatMap((part) => Array.from({ length: 500 }, (_, line) => `${part} ${line}\n`));
    expect(await read(1)).toBe(expected.join(""));
  });

  it("begins another file at its size, and keeps as many as it was told to", async () => {
    for (let round = 0; round < 6; round += 1) {
      const file = await openLogFile({ directory, size: 100, kept: 2 });
      file.write(`${String(round).repeat(120)}\n`);
      await file.close();
    }
    expect(await files()).toEqual(["cairn.4.log", "cairn.5.log", "cairn.6.log"]);
    expect(await read(6)).toMatch(/^5+\n$/);
  });

  it("writes the last line of a process at once", async () => {
    const file = await openLogFile({ directory });
    file.write("before\n");
    file.write("fatal\n");
    file.flushSync();
    expect(await read(1)).toContain("fatal\n");
    await file.close();
    expect((await read(1)).split("\n").filter((line) => line === "fatal")).toHaveLength(1);
  });

  it("neither throws nor waits where the disk is full, and bounds what it keeps", async () => {
    await symlink("/dev/full", join(directory, "cairn.1.log"));
    const file = await openLogFile({ directory, waiting: 1_000 });
    for (let line = 0; line < 1_000; line += 1) file.write(`line ${line}\n`);
    file.flushSync();
    await file.close();
  });

  it("says how many lines were lost, once there is room again", async () => {
    const file = await openLogFile({ directory, waiting: 40 });
    for (let line = 0; line < 10; line += 1) file.write(`line number ${line}\n`);
    await file.close();
    const lines = (await read(1)).trimEnd().split("\n");
    expect(lines.slice(0, -1)).toEqual(["line number 0", "line number 1"]);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: "warn", dropped: 8 });
  });
});

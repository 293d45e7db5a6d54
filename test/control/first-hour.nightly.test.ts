import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { lacks } from "../lanes/tools.ts";
import { COLUMNS, firstHour, MODELS, type Program, SOURCE_TREE } from "../support/first-hour.ts";
import { movingPicture } from "../support/terminal/moving-picture.ts";

const FIXTURES = new URL("../fixtures/first-hour/", import.meta.url);

/** The recording of the README, made anew where CAIRN_RECORD is set: long enough to read, and under a minute in all. */
const RECORDING = join(ROOT, "docs", "first-minute.svg");
const SECONDS = { each: 1.8, last: 5 };
const SHOWN_ROWS = 30;

interface Installed extends Program {
  remove(): Promise<void>;
}

/** As `npm install -g` of the archive that `npm pack` makes; what is built is there. */
async function install(): Promise<Installed> {
  const base = await mkdtemp(join(tmpdir(), "cairn-installed-"));
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", base];
  const { stdout } = await execa("npm", pack, { cwd: ROOT });
  const [{ filename }] = JSON.parse(stdout);
  const prefix = join(base, "prefix");
  const install = ["install", "--global", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund"];
  await execa("npm", [...install, join(base, filename)], { cwd: base });
  const bin = join(prefix, "bin");
  return {
    argv: [await realpath(join(bin, "cairn"))],
    env: { PATH: bin },
    remove: () => rm(base, { recursive: true, force: true }),
  };
}

async function expectFirstHour(program: Program, shape: string, name: keyof typeof MODELS) {
  const { screens, frames, codes } = await firstHour(program, await MODELS[name]());
  expect(codes).toEqual([0, 0, 0]);
  expect(screens.search).toContain("Albatross");
  const text = Object.entries(screens).map(([done, shown]) => `=== ${done}\n\n${shown}\n`);
  await expect(text.join("\n")).toMatchFileSnapshot(new URL(`${shape}-${name}.txt`, FIXTURES).pathname);
  return frames;
}

describe.skipIf(lacks("pseudo-terminal"))("the first hour of a person", () => {
  test.each(["none", "ollama", "key"] as const)("in a source tree, model: %s", async (name) => {
    const frames = await expectFirstHour(SOURCE_TREE, "tree", name);
    if (name !== "ollama" || !process.env.CAIRN_RECORD) return;
    const shown = frames.map((rows, index) => ({
      rows: rows.slice(-SHOWN_ROWS),
      seconds: index === frames.length - 1 ? SECONDS.last : SECONDS.each,
    }));
    await writeFile(RECORDING, movingPicture(shown, { columns: COLUMNS, rows: SHOWN_ROWS }));
  });

  describe("with the installed package", () => {
    let installed: Installed;

    beforeAll(async () => {
      installed = await install();
      return () => installed.remove();
    });

    test.each(["none", "ollama", "key"] as const)("model: %s", async (name) => {
      await expectFirstHour(installed, "package", name);
    });
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryName, usesIn } from "../../scripts/lib/bundle-packages.ts";
import { BUNDLED } from "../../scripts/lib/bundled.js";
import { ROOT } from "../../scripts/lib/paths.js";

describe("usesIn", () => {
  it.each([
    ['import { a, b as c } from "openai";', "openai", ["a", "b"]],
    ['import sdk from "openai";', "openai", ["default"]],
    ['import sdk, { a } from "openai/deep";', "openai/deep", ["default", "a"]],
    ['const { a, b: c } = await import("@pulumi/pulumi");', "@pulumi/pulumi", ["a", "b"]],
    ['const sdk = (await import("openai")).default;', "openai", ["default"]],
    ['const all = require("gpt-tokenizer/encoding/o200k_base");', "gpt-tokenizer/encoding/o200k_base", null],
  ])("reads %s", (text, specifier, names) => {
    const [use, ...others] = usesIn(text, "x.js");
    expect(others).toEqual([]);
    expect(use).toMatchObject({ specifier, names });
    expect(text.slice(use?.start, use?.end)).toBe(specifier);
  });

  it.each(['import { z } from "zod";', 'const words = "openai";', 'load("openai");', 'import "./openai.js";'])(
    "leaves %s alone",
    (text) => expect(usesIn(text, "x.js")).toEqual([]),
  );

  it.each([
    'import * as all from "openai";',
    'import "openai";',
    'const all = await import("openai");',
    'import("openai");',
  ])("refuses %s, which takes everything", (text) =>
    expect(() => usesIn(text, "x.js")).toThrow(/x\.js imports openai/),
  );
});

it("writes the path of a module into the name of its file, as infra/by-hand.ts reads it", () => {
  expect(entryName("@pulumi/kubernetes/provider.js")).toBe("@pulumi+kubernetes+provider.js");
});

it("takes packages that an installation does not bring, in the versions that the rendered project installs", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
  const { dependencies, devDependencies } = read("package.json");
  for (const name of Object.values(BUNDLED).flat()) {
    expect(dependencies).not.toHaveProperty([name]);
    expect(devDependencies).toHaveProperty([name]);
  }
  const project = Object.fromEntries(BUNDLED.infra.map((name) => [name, devDependencies[name]]));
  expect(read("templates/infra/package.json").dependencies).toEqual(project);
});

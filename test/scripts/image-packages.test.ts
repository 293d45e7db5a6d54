import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { BUNDLED } from "../../scripts/lib/bundled.js";
import {
  type LockedPackage,
  type Lockfile,
  type Manifest,
  packagesImportedBy,
  reducePackages,
  resolve,
} from "../../scripts/lib/image-packages.ts";
import { ROOT } from "../../scripts/lib/paths.js";

const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const lockfile: Lockfile = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));

/** Packages that the sources of a room import once types are gone, without those that the build bundles. */
function importsOf(room: string): ReadonlySet<string> {
  const folder = join(ROOT, room);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /(?<!\.d)\.ts$/.test(file));
  const compilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2024,
    verbatimModuleSyntax: true,
  };
  const names = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return packagesImportedBy(ts.transpileModule(text, { compilerOptions, fileName: file }).outputText);
  });
  return new Set(names.filter((name) => !Object.values(BUNDLED).flat().includes(name)));
}

/** What npm would miss: a needed package that is not found from the one that needs it. */
function missingIn({ packages }: Lockfile): string[] {
  return Object.entries(packages).flatMap(([path, entry]) => {
    const optional = Object.keys(entry.optionalDependencies ?? {});
    const peers = Object.keys(entry.peerDependencies ?? {}).filter(
      (name) => !entry.peerDependenciesMeta?.[name]?.optional,
    );
    const needed = [...Object.keys(entry.dependencies ?? {}).filter((name) => !optional.includes(name)), ...peers];
    return needed.filter((name) => resolve(packages, path, name) === undefined).map((name) => `${path}: ${name}`);
  });
}

describe("packagesImportedBy", () => {
  it.each([
    ['import { a } from "zod";', ["zod"]],
    ['import x from "@scope/name/deep/file.js";', ["@scope/name"]],
    ['export * from "pg/lib/client";', ["pg"]],
    ['const sdk = await import("openai");', ["openai"]],
    ['const y = require("gpt-tokenizer/encoding/o200k_base");', ["gpt-tokenizer"]],
    ['import "./own.js"; import "../up.js"; import "node:fs"; import fs from "fs/promises";', []],
    ['// import { a } from "commented";\nconst text = "import x from \'quoted\'";', []],
  ])("reads %s", (text, names) => {
    expect(packagesImportedBy(text)).toEqual(names);
  });
});

describe("the packages of the image", () => {
  const runtime = importsOf("runtime");
  const image = reducePackages(manifest, lockfile, [...runtime]);

  it("are what the runtime imports", () => {
    expect(runtime.size).toBeGreaterThan(20);
    expect(Object.keys(image.lockfile.packages[""]?.dependencies ?? {}).sort()).toEqual([...runtime].sort());
    for (const name of runtime) expect(image.lockfile.packages).toHaveProperty([`node_modules/${name}`]);
  });

  it("are none that only the control plane or the tests import", () => {
    const others = [
      ...importsOf("control"),
      ...importsOf("infra"),
      "@pulumi/pulumi",
      "vitest",
      "typescript",
      "fast-check",
    ];
    const direct = Object.keys(image.lockfile.packages[""]?.dependencies ?? {});
    expect(direct.filter((name) => others.includes(name) && !runtime.has(name))).toEqual([]);
    const paths = Object.keys(image.lockfile.packages);
    expect(paths.filter((path) => /@pulumi|@oclif|@inquirer|vitest|typescript|biome/.test(path))).toEqual([]);
  });

  it("lack nothing, and are the versions that were tested", () => {
    expect(missingIn(image.lockfile)).toEqual([]);
    for (const [path, entry] of Object.entries(image.lockfile.packages)) {
      if (path === "") continue;
      expect(entry.version, path).toBe(lockfile.packages[path]?.version);
      expect(entry["integrity"], path).toBe(lockfile.packages[path]?.["integrity"]);
    }
  });

  it("do not change with the version of the program", () => {
    const next = { ...manifest, version: "99.0.0" };
    expect(reducePackages(next, lockfile, [...runtime])).toEqual(image);
  });

  it("are refused when the runtime imports what is no dependency", () => {
    expect(() => reducePackages(manifest, lockfile, ["left-pad"])).toThrow("left-pad");
  });
});

describe("reducePackages", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e", "f", "@s/g", "h");
  const names = fc.uniqueArray(name, { maxLength: 3 });
  const edges = (list: readonly string[]) => Object.fromEntries(list.map((one) => [one, "*"]));
  /** One package of every name at the top, and some nested below others. */
  const lockfiles = fc
    .record({
      top: fc.array(fc.tuple(names, names), { minLength: 8, maxLength: 8 }),
      nested: fc.array(fc.tuple(name, name, names), { maxLength: 6 }),
      wanted: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
    })
    .map(({ top, nested, wanted }) => {
      const all = ["a", "b", "c", "d", "e", "f", "@s/g", "h"];
      const entry = (version: string, needed: readonly string[], maybe: readonly string[] = []): LockedPackage => ({
        version,
        dependencies: edges(needed),
        optionalDependencies: edges(maybe),
      });
      const packages = Object.fromEntries([
        ...all.map((one, index) => [`node_modules/${one}`, entry("1.0.0", ...(top[index] ?? [[], []]))] as const),
        ...nested.map(
          ([outer, inner, needed]) => [`node_modules/${outer}/node_modules/${inner}`, entry("2.0.0", needed)] as const,
        ),
      ]);
      return { lockfile: { lockfileVersion: 3, packages } satisfies Lockfile, wanted };
    });

  it("keeps what is needed, finds each package where the whole project found it, and keeps nothing else", () => {
    fc.assert(
      fc.property(lockfiles, ({ lockfile: whole, wanted }) => {
        const { packages } = reducePackages({ dependencies: edges(wanted) }, whole, wanted).lockfile;
        expect(missingIn({ lockfileVersion: 3, packages })).toEqual([]);
        const used = new Set<string | undefined>();
        for (const [path, entry] of Object.entries(packages)) {
          for (const one of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
            expect(resolve(packages, path, one)).toBe(resolve(whole.packages, path, one));
            used.add(resolve(packages, path, one));
          }
        }
        expect(Object.keys(packages).filter((path) => path !== "" && !used.has(path))).toEqual([]);
      }),
    );
  });

  it("takes a package that only an optional dependency brings as optional", () => {
    const packages = {
      "node_modules/a": { version: "1.0.0", dependencies: { b: "*" }, optionalDependencies: { c: "*" } },
      "node_modules/b": { version: "1.0.0", dev: true },
      "node_modules/c": { version: "1.0.0", dependencies: { d: "*" } },
      "node_modules/d": { version: "1.0.0" },
    };
    const reduced = reducePackages({ dependencies: { a: "*" } }, { lockfileVersion: 3, packages }, ["a"]).lockfile
      .packages;
    expect(reduced["node_modules/b"]).toEqual({ version: "1.0.0" });
    expect(reduced["node_modules/c"]).toMatchObject({ optional: true });
    expect(reduced["node_modules/d"]).toEqual({ version: "1.0.0", optional: true });
  });

  it("says when the lockfile lacks something", () => {
    const packages = { "node_modules/a": { version: "1.0.0", dependencies: { b: "*" } } };
    expect(() => reducePackages({ dependencies: { a: "*" } }, { lockfileVersion: 3, packages }, ["a"])).toThrow(
      "lacks b",
    );
  });
});

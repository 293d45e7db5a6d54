/**
 * What the image installs: the packages that the compiled runtime imports, with everything that those need, cut out of the
 * project's own lockfile. The rest of the lockfile (deployment, wizard, tests) never reaches a container.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import ts from "typescript";

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** An entry of `packages` in a lockfile of version 3. */
export interface LockedPackage {
  readonly version?: string;
  /** What its package.json says: an SPDX expression, or words. */
  readonly license?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly [field: string]: unknown;
}

export interface Lockfile {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface ImagePackages {
  readonly manifest: object;
  readonly lockfile: Lockfile;
}

/** Fixed, so that a new version of Cairn alone does not change the layer that holds the packages. */
const IDENTITY = { name: "cairn-image", version: "0.0.0" } as const;

/** Marks that say by which way a package came into the whole project; they are set anew for the part. */
const MARKS: readonly string[] = ["dev", "devOptional", "optional", "peer"];

/** Writes `package.json` and `package-lock.json` for the image into `target`, from the JavaScript below `compiled`. */
export function writeImagePackages(paths: {
  readonly compiled: string;
  readonly root: string;
  readonly target: string;
}): void {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(paths.root, name), "utf8"));
  // Both files are written by npm.
  const manifest = read("package.json") as Manifest;
  const lockfile = read("package-lock.json") as Lockfile;
  const image = reducePackages(manifest, lockfile, packagesImportedBelow(paths.compiled));
  mkdirSync(paths.target, { recursive: true });
  writeFileSync(join(paths.target, "package.json"), `${JSON.stringify(image.manifest, undefined, 2)}\n`);
  writeFileSync(join(paths.target, "package-lock.json"), `${JSON.stringify(image.lockfile, undefined, 2)}\n`);
}

/** Names of the packages that the JavaScript below a folder imports or requires, sorted. */
function packagesImportedBelow(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  const names = files.flatMap((file) => packagesImportedBy(readFileSync(join(folder, file), "utf8")));
  return [...new Set(names)].sort();
}

/** Names of the packages that one JavaScript text imports, statically, by `import()` or by `require`. */
export function packagesImportedBy(javascript: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(javascript, true, true);
  return importedFiles.map(({ fileName }) => fileName).flatMap((specifier) => packageOf(specifier) ?? []);
}

/** `@scope/name` of `@scope/name/sub`; undefined for files of our own and for what Node brings. */
export function packageOf(specifier: string): string | undefined {
  if (/^[./]|^[a-z]+:/i.test(specifier)) return undefined;
  const [first = "", second = ""] = specifier.split("/");
  if (builtinModules.includes(first)) return undefined;
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** The part of the lockfile that `names` need. Throws when one of them is no dependency of the project. */
export function reducePackages(manifest: Manifest, lockfile: Lockfile, names: readonly string[]): ImagePackages {
  if (lockfile.lockfileVersion !== 3) throw new Error("package-lock.json is not of version 3");
  const dependencies: Record<string, string> = {};
  for (const name of [...names].sort()) {
    const wanted = manifest.dependencies?.[name];
    if (wanted === undefined) throw new Error(`The runtime imports ${name}, which is no dependency in package.json`);
    dependencies[name] = wanted;
  }
  const root: LockedPackage = { ...IDENTITY, dependencies };
  const { packages } = lockfile;
  const all = reach(packages, root, true);
  const required = reach(packages, root, false);
  const kept = [...all].sort().map((path) => [path, marked(packages[path] ?? {}, !required.has(path))] as const);
  return {
    manifest: { ...IDENTITY, private: true, type: "module", dependencies },
    lockfile: {
      ...IDENTITY,
      lockfileVersion: 3,
      requires: true,
      packages: { "": root, ...Object.fromEntries(kept) },
    } as Lockfile,
  };
}

/** Paths in the lockfile of these packages and of all that they need; of a package that is not in it, none. */
export function packagesReachedBy(packages: Lockfile["packages"], names: readonly string[]): ReadonlySet<string> {
  const there = names.filter((name) => Object.hasOwn(packages, `node_modules/${name}`));
  return reach(packages, { dependencies: Object.fromEntries(there.map((name) => [name, "*"])) }, true);
}

/** Paths in the lockfile that are reached from the root, with or without what is optional. */
function reach(packages: Lockfile["packages"], root: LockedPackage, optional: boolean): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending: (readonly [path: string, entry: LockedPackage])[] = [["", root]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [path, entry] = next;
    for (const { name, needed } of edgesOf(entry)) {
      if (!needed && !optional) continue;
      const found = resolve(packages, path, name);
      if (found === undefined) {
        if (needed) throw new Error(`package-lock.json lacks ${name}, which ${path || "the runtime"} needs`);
        continue;
      }
      if (reached.has(found)) continue;
      reached.add(found);
      pending.push([found, packages[found] ?? {}]);
    }
  }
  return reached;
}

/** What npm installs for a package: an optional peer is not, it is only used where somebody else brought it. */
function edgesOf(entry: LockedPackage): readonly { readonly name: string; readonly needed: boolean }[] {
  const optional = new Set(Object.keys(entry.optionalDependencies ?? {}));
  const peers = Object.keys(entry.peerDependencies ?? {});
  return [
    ...Object.keys(entry.dependencies ?? {}).map((name) => ({ name, needed: !optional.has(name) })),
    ...[...optional].map((name) => ({ name, needed: false })),
    ...peers
      .filter((name) => entry.peerDependenciesMeta?.[name]?.optional !== true)
      .map((name) => ({ name, needed: true })),
  ];
}

/** Where Node finds `name` from a package: in its own `node_modules`, else in those further up. */
export function resolve(packages: Lockfile["packages"], from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const candidate = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (Object.hasOwn(packages, candidate)) return candidate;
    if (at === "") return undefined;
  }
}

function marked(entry: LockedPackage, optional: boolean): LockedPackage {
  const kept = Object.entries(entry).filter(([field]) => !MARKS.includes(field));
  return { ...Object.fromEntries(kept), ...(optional ? { optional: true } : {}) };
}

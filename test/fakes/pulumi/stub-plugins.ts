/** Makes a folder of stub plugins for one test file: executables that the engine finds on PATH, and the target's file. */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Faults, StubCall, StubStore } from "./stub-files.ts";

const PROVIDER = fileURLToPath(new URL("./stub-provider.ts", import.meta.url));
const PACKAGES = ["docker", "kubernetes", "command"] as const;

export interface StubPlugins {
  /** To be put first on PATH. */
  readonly bin: string;
  /** Where the stub target is kept. */
  readonly data: string;
  /** What stands on the target, by id, of all packages. */
  resources(): StubStore;
  /** Every call since the last `forget`. */
  calls(): readonly StubCall[];
  forget(): void;
  fault(faults: Faults): void;
  /** Whether a call is held now: `create cairn-a`. */
  isHeld(call: string): boolean;
}

export function makeStubPlugins(directory: string): StubPlugins {
  const bin = join(directory, "bin");
  const data = join(directory, "target");
  mkdirSync(bin, { recursive: true });
  mkdirSync(data, { recursive: true });
  for (const name of PACKAGES) {
    const version = versionOf(name);
    const command = [process.execPath, "--no-warnings", PROVIDER, name, version, data].map(quote).join(" ");
    writeFileSync(
      join(bin, `pulumi-resource-${name}`),
      `#!/bin/sh\nNODE_COMPILE_CACHE=${quote(join(directory, "cache"))} exec ${command} "$@"\n`,
      { mode: 0o755 },
    );
  }
  const calls = join(data, "calls.ndjson");
  return {
    bin,
    data,
    resources: () => {
      const stores = PACKAGES.map((name) => join(data, `${name}.json`)).filter(existsSync);
      return Object.assign({}, ...stores.map((file) => JSON.parse(readFileSync(file, "utf8"))));
    },
    calls: () =>
      existsSync(calls)
        ? readFileSync(calls, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line))
        : [],
    forget: () => {
      rmSync(calls, { force: true });
      for (const file of readdirSync(data)) if (file.startsWith("held ")) rmSync(join(data, file));
    },
    fault: (faults) => {
      // A call that is held reads it all the time: it must never see half of it.
      const file = join(data, "faults.json");
      writeFileSync(`${file}.new`, JSON.stringify(faults));
      renameSync(`${file}.new`, file);
    },
    isHeld: (call) => existsSync(join(data, `held ${call}`)),
  };
}

/** The engine asks for the version of the npm package. */
function versionOf(name: string): string {
  const manifest = createRequire(import.meta.url).resolve(`@pulumi/${name}/package.json`);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

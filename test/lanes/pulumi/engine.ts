/**
 * The Pulumi engine of the engine lane: the one on PATH, or one that is built from its Go module once and kept outside the
 * checkout, by version.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withLock } from "../../../scripts/lib/lock.js";

const MODULE = fileURLToPath(new URL(".", import.meta.url));
const PACKAGE = "github.com/pulumi/pulumi/pkg/v3";
const VERSION_VARIABLES = [`${PACKAGE}/version.Version`, "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"];

/** As go.mod has it: `v3.250.0`. */
export function engineVersion(): string {
  const found = new RegExp(`${PACKAGE} (v[0-9.]+)`).exec(readFileSync(join(MODULE, "go.mod"), "utf8"))?.[1];
  if (found === undefined) throw new Error("go.mod names no version of Pulumi");
  return found;
}

/** Folder with a `pulumi` in it that works here; undefined when there is none yet. */
export function engineFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = [...(env["PATH"] ?? "").split(delimiter), join(homedir(), ".pulumi", "bin"), cacheFolder(env)];
  return folders.find((folder) => folder !== "" && existsSync(join(folder, "pulumi")));
}

/** PATH with the engine on it; as it was when there is none. */
export function pathWithEngine(env: NodeJS.ProcessEnv = process.env): string {
  const path = env["PATH"] ?? "";
  const folder = engineFolder(env);
  return folder === undefined || path.split(delimiter).includes(folder) ? path : `${path}${delimiter}${folder}`;
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  const cache = env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "cairn-test", `pulumi-${engineVersion()}`);
}

/** Builds it where there is none: three minutes with an empty cache of Go, seconds with a full one. The folder it is in. */
export async function buildEngine(): Promise<string> {
  const there = engineFolder();
  if (there !== undefined) return there;
  const folder = cacheFolder(process.env);
  mkdirSync(folder, { recursive: true });
  return withLock(
    "build",
    () => {
      const binary = join(folder, "pulumi");
      if (existsSync(binary)) return folder;
      const unfinished = `${binary}.${process.pid}`;
      const flags = VERSION_VARIABLES.map((name) => `-X ${name}=${engineVersion()}`).join(" ");
      const args = ["build", "-ldflags", `-s -w ${flags}`, "-o", unfinished, `${PACKAGE}/cmd/pulumi`];
      const result = spawnSync("go", args, {
        cwd: MODULE,
        stdio: ["ignore", "inherit", "inherit"],
        // Distributions switch off that Go fetches the version that go.mod asks for.
        env: { ...process.env, GOTOOLCHAIN: "auto", GOFLAGS: "-buildvcs=false" },
      });
      if (result.status !== 0) {
        rmSync(unfinished, { force: true });
        throw new Error("the Pulumi engine could not be built");
      }
      renameSync(unfinished, binary);
      return folder;
    },
    folder,
  );
}

/** Finds the newest PostgreSQL server on this machine that is new enough and has pgvector. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** The specification's oldest server. */
const OLDEST_MAJOR = 16;

export type PostgresBinaries =
  | { readonly ok: true; readonly bin: string; readonly major: number }
  | { readonly ok: false; readonly reason: string };

/** The folder with `initdb` and `postgres`, or the reason why there is none. */
export function findPostgres(folders: readonly string[] = candidateFolders()): PostgresBinaries {
  const servers = folders
    .filter((bin) => existsSync(join(bin, "initdb")) && existsSync(join(bin, "postgres")))
    .map((bin) => ({ bin, major: majorVersion(bin) }))
    .filter((server) => server.major >= OLDEST_MAJOR)
    .sort((a, b) => b.major - a.major);
  const complete = servers.find((server) => hasVector(server.bin));
  if (complete !== undefined) return { ok: true, ...complete };
  return {
    ok: false,
    reason: servers.length === 0 ? `no PostgreSQL ${OLDEST_MAJOR} or newer` : "PostgreSQL is here, pgvector is not",
  };
}

function candidateFolders(): string[] {
  return [
    ...children("/usr/lib/postgresql").map((path) => join(path, "bin")),
    ...["/opt/homebrew/opt", "/usr/local/opt"].flatMap((folder) =>
      children(folder)
        .filter((path) => path.includes("postgresql"))
        .map((path) => join(path, "bin")),
    ),
    ...children("/usr")
      .filter((path) => path.includes("pgsql-"))
      .map((path) => join(path, "bin")),
    ...(process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== ""),
  ];
}

function children(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

function majorVersion(bin: string): number {
  const words = spawnSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" }).stdout ?? "";
  return Number(/\b(\d+)(?:\.|devel|beta|rc)/.exec(words)?.[1] ?? 0);
}

function hasVector(bin: string): boolean {
  const asked = spawnSync(join(bin, "pg_config"), ["--sharedir"], { encoding: "utf8" });
  const major = majorVersion(bin);
  const shares = [(asked.stdout ?? "").trim(), join(dirname(bin), "share"), `/usr/share/postgresql/${major}`].filter(
    (path) => path !== "",
  );
  return shares.some((share) => existsSync(join(share, "extension", "vector.control")));
}

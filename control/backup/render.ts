/** A backup and a restore in words. Pure. */

import { basename } from "node:path";
import { shellWord } from "../../runtime/contracts/shell-quote.ts";
import type { Obstacle } from "../memory/obstacles.ts";
import { rowsOf } from "../memory/row-words.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { bytes } from "../output/words.ts";
import type { BackupResult } from "./backup.ts";
import { DIRECTORY, HOME, type LeftOut, MEMORY, NODES, type Part } from "./manifest.ts";
import type { RestoreResult } from "./restore/restore.ts";

const NAMES: Readonly<Record<string, string>> = {
  [MEMORY]: "memory",
  [DIRECTORY]: "deployment directory",
  [HOME]: "home",
  [NODES]: "nodes",
};
const MOST_OMITTED = 10;

export function renderBackup(result: BackupResult, mark: Mark): string {
  const { outcome, file, created_at, version, schema_version } = result;
  const from = `made ${created_at} by version ${version}, schema ${schema_version}`;
  return [
    outcome === "written"
      ? `Wrote ${visible(file)}, ${bytes(result.bytes)}, and read it back:`
      : `${visible(file)} is whole, ${from}:`,
    partRows(result.parts),
    ...renderOmitted(result.left_out, mark),
    ...(outcome === "written"
      ? ["Without the passphrase it cannot be opened. Keep both apart, and the file on another disk."]
      : []),
  ].join("\n");
}

export function renderRestore(result: RestoreResult, mark: Mark): string {
  return result.outcome === "restored" ? renderRestored(result, mark) : renderCheck(result, mark);
}

function renderRestored(result: RestoreResult, mark: Mark): string {
  const { file, created_at, directory, home, counts, tokens, archives, left_out } = result;
  return [
    `Restored ${visible(file)} of ${created_at} into ${directory}${home === directory ? "" : `, its home into ${home}`}:`,
    partRows(result.parts),
    ...(Object.keys(counts).length > 0 ? ["Rows of the memory:", columns(rowsOf(counts), "  ")] : []),
    ...(tokens.length > 0 ? [`API tokens that work again: ${tokens.map(visible).join(", ")}.`] : []),
    ...renderOmitted(left_out, mark),
    ...renderFormerPaths(result, mark),
    ...(archives.length > 0
      ? renderArchives(archives)
      : ["What was said, forgotten or revoked after the backup is as it was then."]),
    archives.length > 0 ? "Next: `cairn infra status`" : "Next: `cairn doctor`, and `cairn start --detach`",
  ].join("\n");
}

function renderArchives(archives: readonly string[]): string[] {
  return [
    "What its nodes had is kept beside it. Where the stack has lost its data, these bring all of it back:",
    ...["`cairn infra up`", ...archives.map(commandOf)].map((command) => `  ${command}`),
  ];
}

/** A node reads its key and its logins when it starts: it is ended after that, and its target starts it again. */
function commandOf(path: string): string {
  const file = shellWord(visible(path));
  const [, node = "", what = MEMORY] = /^(.+)-(memory\.backup|files\.tar\.gz)$/.exec(basename(path)) ?? [];
  const at = node === "" ? "" : ` --node ${shellWord(node)}`;
  return what === MEMORY
    ? `\`cairn memory restore ${file} --with-tokens${at}\``
    : `\`cairn exec${at} -- sh -c 'tar -C / -xpz && kill 1' < ${file}\``;
}

function renderCheck(result: RestoreResult, mark: Mark): string {
  const { file, created_at, version, schema_version, directory, home, target, backend, nodes } = result;
  const memory =
    nodes === null
      ? `The memory would go into ${backend === "postgres" ? "the database that its configuration names" : "an embedded store"}.`
      : `It is of the stack on ${target} with ${nodes.join(", ")}: archives of its nodes would go into backups/.`;
  return [
    `${visible(file)} is whole, made ${created_at} by version ${version}, schema ${schema_version}:`,
    partRows(result.parts),
    ...renderOmitted(result.left_out, mark),
    `It would go into ${directory}${home === directory ? "" : `, its home into ${home}`}. ${memory}`,
    ...renderGoesOn(result),
    ...renderFormerPaths(result, mark),
    ...renderObstacles(result.obstacles, mark),
    ...(result.taken_address === null
      ? []
      : [
          mark.warn(`Something listens at ${visible(result.taken_address)} already, as a node that runs does:`),
          "the restored one starts once that has ended, or runtime.listen of its cairn.yaml names another port.",
        ]),
  ].join("\n");
}

function renderGoesOn({ goes_on_at: step, obstacles }: RestoreResult): string[] {
  if (step === null || obstacles.length > 0) return [];
  const how =
    step === "placing"
      ? "all is filled, and only gets its place"
      : "it begins again, and what is in the store already is compared with the backup";
  return [`A restore of this backup was cut off here. It would be gone on with: ${how}.`];
}

function renderFormerPaths({ former_paths: paths, directory }: RestoreResult, mark: Mark): string[] {
  if (paths.length === 0) return [];
  return [
    mark.warn("cairn.yaml names paths where the deployment was. Correct them there, relative to it, before a start:"),
    ...paths.map((path) => `  ${visible(path)}`),
    `What was restored of them is below ${directory}.`,
  ];
}

/** What is in the way of a restore, or that nothing is. */
export function renderObstacles(obstacles: readonly Obstacle[], mark: Mark): string[] {
  if (obstacles.length === 0) return [mark.good("Nothing is in the way.")];
  const lines = obstacles.flatMap(({ message, hint }) => [
    `  ${visible(message)}`,
    ...(hint === null ? [] : [`    ${mark.dim(visible(hint))}`]),
  ]);
  return [mark.error("In the way:"), ...lines];
}

function partRows(parts: readonly Part[]): string {
  const rows = parts.map(({ name, files, bytes: size }) => [
    NAMES[name] ?? visible(name),
    files === 1 ? "1 file" : `${files} files`,
    bytes(size),
  ]);
  return columns(rows, "  ");
}

function renderOmitted(all: readonly LeftOut[], mark: Mark): string[] {
  if (all.length === 0) return [];
  const shown = all.slice(0, MOST_OMITTED).map(({ path, reason }) => `  ${visible(path)}: ${visible(reason)}`);
  const more = all.length - shown.length;
  return [
    mark.warn(`Not in it (${all.length}):`),
    ...shown,
    ...(more > 0 ? [`  and ${more} more, which --json names`] : []),
  ];
}

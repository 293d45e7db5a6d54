/** What `infra` says to people. */

import type { Mark } from "../output/terminal.ts";
import { columns } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type {
  Change,
  ChangeOp,
  DestroyResult,
  Diff,
  Holder,
  PreviewResult,
  RecoverResult,
  RefreshResult,
  RenderResult,
  RollReport,
  StatusResult,
  UnlockResult,
  UpResult,
} from "./schemas.ts";

/** Characters of one side of a change; files are longer. */
const LONGEST_VALUE = 60;
/** Lines of one resource's properties. */
const MOST_PROPERTIES = 12;

const SIGNS: Readonly<Record<ChangeOp, string>> = {
  create: "+",
  update: "~",
  replace: "±",
  delete: "-",
  import: "=",
  same: " ",
};

/** Each change with its properties, then the counts. */
export function diffText(diff: Diff, mark: Mark): string {
  const lines = diff.changes.flatMap((change) => [changeLine(change, mark), ...propertyLines(change, mark)]);
  return [...lines, countsText(diff)].join("\n");
}

/** `1 to create, 2 to replace, 5 unchanged`. */
function countsText({ summary }: Diff): string {
  const counted = (["create", "import", "update", "replace", "delete"] as const)
    .filter((op) => summary[op] > 0)
    .map((op) => `${summary[op]} to ${op}`);
  return counted.length === 0
    ? `No changes, ${summary.same} unchanged.`
    : `${counted.join(", ")}, ${summary.same} unchanged.`;
}

/** `1 created, 2 replaced, 5 unchanged.` */
function doneText({ summary }: Diff): string {
  const past = {
    create: "created",
    import: "taken over",
    update: "updated",
    replace: "replaced",
    delete: "removed",
  } as const;
  const done = (Object.keys(past) as (keyof typeof past)[])
    .filter((op) => summary[op] > 0)
    .map((op) => `${summary[op]} ${past[op]}`);
  return done.length === 0 ? "Nothing had to be changed." : `${done.join(", ")}, ${summary.same} unchanged.`;
}

function changeLine({ op, name, type }: Change, mark: Mark): string {
  const colour = {
    create: mark.good,
    import: mark.good,
    update: mark.warn,
    replace: mark.warn,
    delete: mark.error,
    same: mark.dim,
  };
  return `${colour[op](`${SIGNS[op]} ${op}`)} ${visible(name)} ${mark.dim(type)}`;
}

function propertyLines({ properties }: Change, mark: Mark): string[] {
  const shown = properties.slice(0, MOST_PROPERTIES).map(({ path, before, after }) => {
    return `    ${visible(path)}: ${mark.dim(short(before))} -> ${short(after)}`;
  });
  const more = properties.length - shown.length;
  return more > 0 ? [...shown, mark.dim(`    and ${more} more`)] : shown;
}

function short(value: unknown): string {
  if (value === null) return "none";
  const text = visible(typeof value === "string" ? value : JSON.stringify(value)).replaceAll("\n", "\\n");
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text;
}

export function previewText(result: PreviewResult, mark: Mark): string {
  const hint = result.changes.length > 0 ? [mark.dim("Apply with `cairn infra up`.")] : [];
  return [diffText(result, mark), ...hint].join("\n");
}

export function upText(result: UpResult, mark: Mark): string {
  const nodes = result.nodes.map((node) => [
    mark.name(node.name),
    healthWord(node.health, mark),
    node.url ?? node.place,
    mark.dim(node.workload),
  ]);
  const done = result.healthy
    ? "The stack is up."
    : result.roll !== undefined && result.roll.failed !== null
      ? mark.warn(rollText(result.roll))
      : mark.warn("The stack was applied, but not every node is healthy yet.");
  return [
    doneText(result),
    columns(nodes, "  "),
    ...reasonLines(result.nodes),
    ...(result.adopted.length > 0 ? [`Taken over: ${result.adopted.join(", ")}`] : []),
    `${done} Next: \`${result.next}\``,
  ].join("\n");
}

export function recoverText(result: RecoverResult, mark: Mark): string {
  return [...(result.put_aside === null ? [] : [`Put aside: ${result.put_aside}`]), upText(result, mark)].join("\n");
}

function rollText({ outcome, failed, reason, done }: RollReport): string {
  const why = `${failed ?? ""} failed: ${visible(reason ?? "")}`;
  if (outcome === "operator") return `${why} It needs you.`;
  if (outcome === "rolled_back") return `${why} All nodes have what they had before.`;
  return `${why} It has what it had before; ${done.join(", ")} have what was planned.`;
}

export function destroyText(result: DestroyResult, mark: Mark): string {
  if (result.changes.length === 0 && result.kept.length + result.deleted.length === 0) return "Nothing is deployed.";
  const places = (list: readonly { name: string; place: string }[]): string =>
    columns(
      list.map(({ name, place }) => [name, mark.dim(place)]),
      "  ",
    );
  return [
    `Removed ${result.changes.length} resources.`,
    ...(result.kept.length > 0
      ? ["The data stay where they are; `cairn infra up` takes them up again:", places(result.kept)]
      : []),
    ...(result.deleted.length > 0 ? [mark.warn("Deleted for good:"), places(result.deleted)] : []),
    ...(result.backup === null ? [] : [`Backup: ${result.backup}`]),
  ].join("\n");
}

export function refreshText(result: RefreshResult, mark: Mark): string {
  const own = result.drift.map(
    ({ resource, setting, expected, observed }) =>
      `${mark.warn("~ drift")} ${visible(resource)} ${setting}: ${mark.dim(short(expected))} -> ${short(observed)}`,
  );
  if (own.length === 0 && result.changes.length === 0) return "What is there is what was recorded.";
  const tail = result.applied
    ? "Recorded as it is. `cairn infra preview` shows what would be brought back."
    : mark.dim(
        result.changes.length > 0
          ? "`cairn infra refresh` records it as it is; `cairn infra up` after that brings back what the configuration says."
          : "`cairn infra up` brings back what the configuration says.",
      );
  return [diffText(result, mark), ...own, tail].join("\n");
}

export function statusText(status: StatusResult, mark: Mark): string {
  const nodes = status.nodes.map((node) => [
    mark.name(node.name),
    node.state,
    healthWord(node.health, mark),
    node.url ?? node.place,
    mark.dim(node.image),
  ]);
  return [
    `${status.stack} on ${status.target}: ${status.deployed ? `deployed ${status.deployed_at ?? ""}`.trim() : "not deployed"}`,
    columns(nodes, "  "),
    ...reasonLines(status.nodes),
    ...(status.data.length > 0
      ? [`Data: ${status.data.map(({ name, place }) => `${name} (${place})`).join(", ")}`]
      : []),
    ...(status.holder ? [mark.warn(`Locked by ${holderText(status.holder)}.`)] : []),
    ...(status.pending > 0 ? [mark.warn(`${status.pending} interrupted: run \`cairn infra unlock\`.`)] : []),
  ].join("\n");
}

export function renderText(result: RenderResult): string {
  const part = (word: string, list: readonly string[]): string[] =>
    list.length > 0 ? [`${word} ${list.join(", ")}`] : [];
  return [
    result.directory,
    ...part("  written:", result.written),
    ...part("  unchanged:", result.unchanged),
    ...part("  changed by hand, left alone (--force replaces them):", result.kept),
  ].join("\n");
}

export function unlockText(result: UnlockResult, mark: Mark): string {
  const nothing = result.cleared.length === 0 && result.pending.length === 0 && result.restored === null;
  if (nothing) return "Nothing was locked.";
  return [
    ...result.cleared.map((holder) => `Took the lock of ${holderText(holder)} away.`),
    ...(result.restored === null
      ? []
      : [`Put the copy ${result.restored} back. Run \`cairn infra refresh\` to compare it with the target.`]),
    ...result.pending.map(({ operation, name, outcome }) => `${operation} ${visible(name)}: ${OUTCOMES[outcome]}`),
    mark.dim("Run the command that was interrupted again: it finishes."),
  ].join("\n");
}

const OUTCOMES = {
  "taken-over": "it exists, and is recorded now",
  cleared: "forgotten, the next run does it",
  left: "left as it is, the target did not answer",
} as const;

function holderText({ user, host, pid, command, started_at }: Holder): string {
  return `${user}@${host} (${command}, process ${pid}, since ${started_at})`;
}

/** Under the table, because they are sentences. */
function reasonLines(nodes: readonly { readonly name: string; readonly reason: string | null }[]): string[] {
  return nodes.flatMap(({ name, reason }) => (reason === null ? [] : [`  ${name}: ${visible(reason)}`]));
}

function healthWord(health: string, mark: Mark): string {
  return health === "healthy" ? mark.good(health) : health === "unhealthy" ? mark.error(health) : mark.warn(health);
}

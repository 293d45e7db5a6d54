/** What `infra` has done, to people. */

import { lastWordLines } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import { columns } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { diffText, driftLines } from "./diff-words.ts";
import type {
  DestroyResult,
  Diff,
  Holder,
  NodeRemoveResult,
  NodeRenameResult,
  PostgresUpgradeResult,
  PreviewResult,
  RecoverResult,
  RenderResult,
  RollReport,
  StatusResult,
  UnlockResult,
  UpResult,
} from "./schemas.ts";

export function previewText(result: PreviewResult, mark: Mark): string {
  const refused = result.warnings.filter(({ code }) => code === "INFRA_UP_REFUSED");
  const apply = result.changes.length + result.drift.length > 0 ? [mark.dim("Apply with `cairn infra up`.")] : [];
  const end =
    refused.length > 0
      ? refused.map(({ message, hint }) => mark.warn(`\`up\` refuses it: ${message} ${hint ?? ""}`.trim()))
      : apply;
  return [diffText(result, mark), ...end].join("\n");
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
    ...driftLines(result.drift, mark),
    doneText(result),
    columns(nodes, "  "),
    ...reasonLines(result.nodes),
    ...(result.adopted.length > 0 ? [`Taken over: ${result.adopted.join(", ")}`] : []),
    `${done} Next: \`${result.next}\``,
    ...lastWordLines(result.roll?.last_words ?? [], result.roll?.log ?? null, mark),
  ].join("\n");
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
    result.changes.length === 0 ? "Nothing ran any more." : `The stack ${visible(result.stack)} is removed.`,
    ...(result.kept.length > 0
      ? ["The data stay where they are; `cairn infra up` takes them up again:", places(result.kept)]
      : []),
    ...(result.deleted.length > 0 ? [mark.warn("Deleted for good:"), places(result.deleted)] : []),
    ...(result.backup === null ? [] : [`Backup: ${result.backup}`]),
  ].join("\n");
}

export function nodeRemoveText(result: NodeRemoveResult, mark: Mark): string {
  const list = (data: NodeRemoveResult["kept"]): string =>
    data.map(({ name, place }) => `${name} (${place})`).join(", ");
  return [
    `The node ${result.node} is not in the stack any more.`,
    ...(result.kept.length > 0 ? [`Its data stay: ${list(result.kept)}`] : []),
    ...(result.archive === null ? [] : [`Its data are in ${result.archive}`]),
    ...(result.deleted.length > 0 ? [mark.warn(`Deleted: ${list(result.deleted)}`)] : []),
    ...(result.waiting.length > 0
      ? [
          `The next ${mark.name("cairn infra up")} gives ${result.waiting.join(", ")} the other share of the machine's memory.`,
        ]
      : []),
  ].join("\n");
}

export function nodeRenameText(result: NodeRenameResult, mark: Mark): string {
  const { from, to, outcome, reason, kept } = result;
  const said = {
    renamed: `The node ${from} is ${to} now.`,
    rolled_back: mark.warn(`${to} failed: ${visible(reason ?? "")} The node is ${from} again.`),
    operator: mark.error(`${visible(reason ?? "")} It needs you.`),
  };
  const rest = kept.map(({ name, place }) => `${name} (${place})`).join(", ");
  return [said[outcome], ...(rest === "" ? [] : [`Under the former name these data stay: ${rest}`])].join("\n");
}

export function postgresUpgradeText({ outcome, from, to, ...result }: PostgresUpgradeResult, mark: Mark): string {
  if (outcome === "unchanged") return `Nothing to do: the data are PostgreSQL ${from.major}'s, and so is the image.`;
  const { kept, backup, tables, rows } = result;
  return [
    `PostgreSQL is ${to.major} now (was ${from.major}), and has the same ${rows} rows in ${tables} tables.`,
    ...(backup === null ? [] : [`The backup from before is ${backup}`]),
    ...(kept === null ? [] : [`The former data stay in ${kept.volume}. To remove them: ${mark.name(kept.removal)}`]),
  ].join("\n");
}

export function statusText(status: StatusResult, mark: Mark): string {
  const rows = [
    ...status.nodes.map((node) => [
      mark.name(node.name),
      stateWord(node, mark),
      node.version ?? "",
      sinceText(node),
      node.url ?? node.place,
      mark.dim(shortImage(node.image)),
    ]),
    ...status.parts.map((part) => [
      `${part.kind === "database" ? "" : `${part.kind} `}${visible(part.name)}`,
      stateWord(part, mark),
      part.version ?? "",
      sinceText(part),
      part.place,
      mark.dim(shortImage(part.image ?? "")),
    ]),
  ];
  const reasons = [...status.nodes, ...status.parts];
  return [
    `${status.stack} on ${status.target}: ${status.deployed ? `deployed ${status.deployed_at ?? ""}`.trim() : "not deployed"}`,
    columns(rows, "  "),
    ...reasonLines(reasons),
    ...(!status.deployed && status.data.length > 0
      ? [`Data: ${status.data.map(({ name, place }) => `${name} (${place})`).join(", ")}`]
      : []),
    ...status.former.map(
      ({ name, removal }) => `Kept by an upgrade of PostgreSQL: ${visible(name)}. To remove it: ${mark.name(removal)}`,
    ),
    ...lockLines(status, mark),
  ].join("\n");
}

const AGAIN = "run the same command again, or `cairn infra unlock` to settle it alone";

/** What an interrupted run left is settled; what a run at work has begun is not. */
function lockLines({ holder, working, pending, deployed, healthy }: StatusResult, mark: Mark): string[] {
  if (holder !== null && working) return [mark.warn(`At work: ${holderText(holder)}.`)];
  if (holder !== null) return [mark.warn(`Interrupted: ${holderText(holder)}; ${AGAIN}.`)];
  if (pending > 0) return [mark.warn(`${pending} interrupted: ${AGAIN}.`)];
  return deployed && !healthy ? [mark.dim("`cairn infra preview` shows what `cairn infra up` would bring back.")] : [];
}

function stateWord({ state, health }: { state: string; health: string | null }, mark: Mark): string {
  if (state === "present") return mark.good(state);
  if (state === "running" && health !== null) return healthWord(health, mark);
  return mark.error(state);
}

/** `since 2026-01-31 12:00 UTC, 3 restarts`. */
function sinceText({ since, restarts }: { since: string | null; restarts: number | null }): string {
  const time = since === null ? "" : `since ${since.slice(0, 16).replace("T", " ")} UTC`;
  const again = restarts === null || restarts === 0 ? "" : `, ${restarts} ${restarts === 1 ? "restart" : "restarts"}`;
  return `${time}${again}`;
}

/** An id is long, and its beginning is enough to recognise it. */
function shortImage(image: string): string {
  return visible(image.replace(/((?:sha256|cairn-image):[0-9a-f]{12})[0-9a-f]{52}$/, "$1"));
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
    ...result.cleared.map((holder) => `Removed the lock of ${holderText(holder)}.`),
    ...(result.restored === null
      ? []
      : [
          `Put the copy ${result.restored} back. \`cairn infra preview\` compares it with the target; \`cairn infra up --adopt\` takes over data that were made after it.`,
        ]),
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

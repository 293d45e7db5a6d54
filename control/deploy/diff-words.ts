/** What `infra` would change, and what was changed by hand, to people. */

import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type { Change, ChangeOp, Diff, FoundDrift, SettingChange, ShownDiff } from "./schemas.ts";

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

/** What was changed by hand, each change with its properties, then the counts. */
export function diffText(diff: Diff | ShownDiff, mark: Mark): string {
  const found = "drift" in diff ? [...driftLines(diff.drift, mark), ...settingLines(diff.settings, mark)] : [];
  const lines = diff.changes.flatMap((change) => [changeLine(change, mark), ...propertyLines(change, mark)]);
  return [...found, ...lines, countsText(diff)].join("\n");
}

export function driftLines(drift: readonly FoundDrift[], mark: Mark): string[] {
  const lines = drift.map(({ message, remedy }) => `${mark.warn("! ")}${visible(message)} ${visible(remedy)}`);
  const lost = drift.some(({ data_lost }) => data_lost);
  return lost ? [...lines, mark.error(DATA_LOST)] : lines;
}

function settingLines(settings: readonly SettingChange[], mark: Mark): string[] {
  return settings.map(({ nodes, setting, before, after }) => {
    const change = `${mark.dim(short(before))} -> ${short(after)}`;
    return `${mark.warn("~")} ${visible(setting)}: ${change} ${mark.dim(`(${nodes.join(", ")})`)}`;
  });
}

const DATA_LOST =
  "Data are gone with what held them, and `up` cannot bring them back: `cairn memory restore FILE` does from a backup, after it.";

/** `1 to create, 2 to replace, 5 unchanged`. */
function countsText({ summary }: Diff): string {
  const counted = (["create", "import", "update", "replace", "delete"] as const)
    .filter((op) => summary[op] > 0)
    .map((op) => `${summary[op]} to ${op}`);
  return counted.length === 0
    ? `No changes, ${summary.same} unchanged.`
    : `${counted.join(", ")}, ${summary.same} unchanged.`;
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
  const shown = readable(properties)
    .slice(0, MOST_PROPERTIES)
    .map(({ path, before, after }) => {
      return `    ${visible(path)}: ${mark.dim(short(before))} -> ${short(after)}`;
    });
  const more = readable(properties).length - shown.length;
  return more > 0 ? [...shown, mark.dim(`    and ${more} more`)] : shown;
}

/** What a container gets as files is sealed in the state: the settings above say what changes in them. */
function readable(properties: Change["properties"]): Change["properties"] {
  const isSealed = ({ path }: Change["properties"][number]): boolean => /^uploads\b/.test(path);
  const open = properties.filter((one) => !isSealed(one));
  if (open.length === properties.length) return properties;
  return [...open, { path: "files", kind: "update", before: "as deployed", after: "as planned" }];
}

function short(value: unknown): string {
  if (value === null) return "none";
  const text = visible(typeof value === "string" ? value : JSON.stringify(value)).replaceAll("\n", "\\n");
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text;
}

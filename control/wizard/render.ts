/** The outcome of a setup in words. */
import { SECRETS_FILE } from "../../runtime/config/index.ts";
import { colouredDiff } from "../output/render-edit.ts";
import type { Mark } from "../output/terminal.ts";
import { wrap } from "../output/wrap.ts";
import type { InitResult } from "./init.ts";

const MEMORY = {
  embedded: "embedded",
  postgres: "postgres",
  datahub: "PostgreSQL, deployed with the nodes",
} as const;

/** Columns before what a row says. */
const ROW_INDENT = 12;

export interface InitPage {
  /** Columns of the terminal; nothing is wrapped without them. */
  readonly width?: number | undefined;
  /** The difference was shown and agreed to. */
  readonly reviewed?: boolean;
  /** Commands as they have to be typed here: they are longer then, and lines are broken after it. */
  readonly typed?: (text: string) => string;
}

export function renderInit(result: InitResult, mark: Mark, page: InitPage = {}): string {
  const { provider, dir, memory, url, token, target, channels, agents, diff, files, next } = result;
  if (diff !== null && files.length === 0) return "Nothing to change: the configuration says that already.";
  const model = provider.model === undefined ? "" : `, model ${provider.model}`;
  const tokens = {
    generated: `a new one, in ${SECRETS_FILE}`,
    file: `the one in ${SECRETS_FILE}`,
    environment: "the one in the environment",
  };
  const rows = [
    ["Target", target === "manual" ? "this machine" : target],
    ["Provider", `${provider.id}${model} (${provider.reason})`],
    [agents.length === 1 ? "Agent" : "Agents", agents.join(", ")],
    ...(channels.length > 0 ? [["Channels", channels.join(", ")]] : []),
    ["Memory", MEMORY[memory]],
    ...(target === "manual" ? [["Address", url]] : []),
    ["Token", tokens[token]],
  ];
  const done = diff === null ? "Set up" : "Changed";
  return [
    ...(diff === null || diff === "" || page.reviewed === true ? [] : [colouredDiff(diff, mark)]),
    `${mark.good(done)} in ${mark.name(dir)}`,
    ...fileLines(result, mark),
    "",
    ...rows.flatMap(([label = "", value = ""]) => {
      const [first = "", ...rest] = wrap(value, ROW_INDENT, page.width);
      return [`  ${mark.dim(label.padEnd(9))} ${first}`, ...rest.map((line) => " ".repeat(ROW_INDENT) + line)];
    }),
    ...(result.notes.length > 0 ? ["", ...result.notes.flatMap((note) => noteLines(note, mark, page))] : []),
    "",
    ...nextLines(next, mark, page),
  ].join("\n");
}

/** The colour comes last: it has no width. */
function nextLines(next: readonly string[], mark: Mark, { width, typed = (text) => text }: InitPage): string[] {
  const text = `Next: ${next.map((command) => `\`${command}\``).join(", then ")}`;
  return wrap(typed(text), 0, width).map((line) => line.replace(/`[^`]*`/g, mark.name));
}

function noteLines(note: string, mark: Mark, { width, typed = (text) => text }: InitPage): string[] {
  const head = "Note: ";
  const [first = "", ...rest] = wrap(typed(note), head.length, width);
  return [`${mark.warn(head.trim())} ${first}`, ...rest];
}

/** Folders with many files have one line. */
function fileLines({ files }: InitResult, mark: Mark): string[] {
  const folders = ["workspace/", "infra/"];
  const single = files.filter(({ path }) => !folders.some((folder) => path.startsWith(folder)));
  const lines = single.map(({ path, action }) => `  ${path} ${mark.dim(action)}`);
  for (const folder of folders) {
    const inside = files.filter(({ path }) => path.startsWith(folder));
    const created = inside.filter(({ action }) => action === "created").length;
    if (inside.length > 0) lines.push(`  ${folder} ${mark.dim(`${created} of ${inside.length} files created`)}`);
  }
  return lines;
}

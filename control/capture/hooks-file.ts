/**
 * The hooks of Claude Code (`settings.json`) and Codex (`hooks.json`), which have one form: event -> groups -> commands.
 * Pure: text in, text out. Everything else in the file stays as it is, comments and layout too.
 */

import jsonc from "jsonc-parser";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { isRecord } from "../../runtime/contracts/values.ts";

export interface WantedHook {
  readonly event: string;
  /** A shell command. */
  readonly command: string;
  /** Seconds after which the harness gives it up. */
  readonly timeout: number;
}

type Path = (string | number)[];

/** The file with these hooks, and none of ours beside them; `isOurs` tells ours by their command. */
export function withHooks(text: string, hooks: readonly WantedHook[], isOurs: (command: string) => boolean): string {
  let changed = text.trim() === "" ? "{}\n" : text;
  for (const event of eventsOf(changed)) {
    const wanted = hooks.find((hook) => hook.event === event);
    changed = cleaned(changed, event, isOurs, wanted);
  }
  for (const { event, command, timeout } of hooks) {
    const groups = groupsOf(changed, event);
    if (groups.some((group) => commandsOf(group).some(({ command: present }) => present === command))) continue;
    const group = { hooks: [{ type: "command", command, timeout }] };
    changed = edited(changed, ["hooks", event, groups.length], group);
  }
  return changed;
}

/** The file without our hooks, and without the groups and lists that held nothing else. */
export function withoutHooks(text: string, isOurs: (command: string) => boolean): string {
  let changed = text;
  for (const event of eventsOf(text)) changed = cleaned(changed, event, isOurs);
  const hooks = parse(changed)["hooks"];
  const emptied = isRecord(hooks) && Object.keys(hooks).length === 0 && changed !== text;
  return emptied ? without(changed, ["hooks"]) : changed;
}

/** The events that have a hook of ours. */
export function hookedEvents(text: string, isOurs: (command: string) => boolean): string[] {
  return eventsOf(text).filter((event) =>
    groupsOf(text, event).some((group) => commandsOf(group).some(({ command }) => isOurs(command))),
  );
}

function cleaned(text: string, event: string, isOurs: (command: string) => boolean, keep?: WantedHook): string {
  let changed = text;
  const groups = groupsOf(text, event);
  // From the back, so that the places before stay where they are.
  for (const [n, group] of [...groups.entries()].reverse()) {
    const commands = commandsOf(group);
    const ours = commands.filter(({ command }) => isOurs(command) && command !== keep?.command);
    if (ours.length === 0) continue;
    if (ours.length === commands.length && commands.length === listOf(group).length) {
      changed = without(changed, ["hooks", event, n]);
      continue;
    }
    for (const { index } of ours.reverse()) changed = without(changed, ["hooks", event, n, "hooks", index]);
  }
  const emptied = groupsOf(changed, event).length === 0 && groups.length > 0;
  return emptied && keep === undefined ? without(changed, ["hooks", event]) : changed;
}

function eventsOf(text: string): string[] {
  const hooks = parse(text)["hooks"];
  if (hooks === undefined) return [];
  if (!isRecord(hooks)) throw unreadable("`hooks` is no object");
  return Object.keys(hooks);
}

function groupsOf(text: string, event: string): readonly unknown[] {
  const hooks = parse(text)["hooks"];
  const groups = isRecord(hooks) ? hooks[event] : undefined;
  if (groups === undefined) return [];
  if (!Array.isArray(groups)) throw unreadable(`\`hooks.${event}\` is no list`);
  return groups;
}

function listOf(group: unknown): readonly unknown[] {
  return isRecord(group) && Array.isArray(group["hooks"]) ? group["hooks"] : [];
}

function commandsOf(group: unknown): { readonly command: string; readonly index: number }[] {
  return listOf(group).flatMap((hook, index) =>
    isRecord(hook) && typeof hook["command"] === "string" ? [{ command: hook["command"], index }] : [],
  );
}

/** CONFIG_INVALID when it is no JSON object; comments and trailing commas are fine. */
function parse(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return {};
  const errors: jsonc.ParseError[] = [];
  const value: unknown = jsonc.parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw unreadable(`${jsonc.printParseErrorCode(error.error)} in line ${line}`);
  }
  if (!isRecord(value)) throw unreadable("it is no JSON object");
  const tree = jsonc.parseTree(text, [], { allowTrailingComma: true });
  const duplicate = tree && (repeatedKey(tree) ?? repeatedKey(jsonc.findNodeAtLocation(tree, ["hooks"])));
  // Readers take the last one and an edit would change the first: the user's hooks would be lost.
  if (duplicate !== undefined) throw unreadable(`\`${duplicate}\` is in it twice`);
  return value;
}

function repeatedKey(node: jsonc.Node | undefined): string | undefined {
  if (node?.type !== "object") return undefined;
  const keys = (node.children ?? []).map(({ children }) => String(children?.[0]?.value));
  return keys.find((key, n) => keys.indexOf(key) !== n);
}

/** Cuts the item or member out, with the comma that it leaves over. The library's own way breaks lists in one line. */
function without(text: string, path: Path): string {
  const tree = jsonc.parseTree(text, [], { allowTrailingComma: true });
  const value = tree && jsonc.findNodeAtLocation(tree, path);
  const node = value?.parent?.type === "property" ? value.parent : value;
  const siblings = node?.parent?.children ?? [];
  if (node === undefined) return text;
  const at = siblings.indexOf(node);
  const [previous, next] = [siblings[at - 1], siblings[at + 1]];
  const start = next === undefined && previous !== undefined ? previous.offset + previous.length : node.offset;
  const end = next === undefined ? node.offset + node.length : next.offset;
  return text.slice(0, start) + text.slice(end);
}

/** Laid out like the rest of the file. */
function edited(text: string, path: Path, value: unknown): string {
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
  const formattingOptions = {
    insertSpaces: !indent.includes("\t"),
    tabSize: indent.includes("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  return jsonc.applyEdits(text, jsonc.modify(text, path, value, { formattingOptions }));
}

function unreadable(what: string): ConfigError {
  return new ConfigError("CONFIG_INVALID", `The hooks of the file cannot be read: ${what}.`, {
    hint: "Correct the file; it was not changed.",
  });
}

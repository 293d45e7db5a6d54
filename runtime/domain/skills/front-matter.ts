/** SKILL.md as text: its front matter and its body, with what is wrong with them. */

import { isMap, LineCounter, type ParsedNode, parseDocument, visit } from "yaml";
import { z } from "zod";
import { SKILL_FILE, type SkillHead, type SkillIssue } from "../../contracts/skill.ts";
import { isOneLine, visibleText } from "../prompt-data.ts";

export interface ParsedSkill {
  /** Null with an error among the issues. */
  readonly head: SkillHead | null;
  readonly body: string;
  readonly issues: readonly SkillIssue[];
}

/** UTF-16 units of the front matter. */
const MAX_HEAD = 16_384;
const MAX_TRIGGERS = 20;
const HEAD = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const LETTER = /[\p{L}\p{N}]/u;

const line = (most: number) =>
  z
    .string(`must be a text of 1 to ${most} characters`)
    .trim()
    .min(1, "must not be empty")
    .max(most, `must have at most ${most} characters`);

const trigger = line(80)
  .min(2, "must have at least 2 characters")
  .refine(isOneLine, "must be one line, without characters that are not seen")
  .refine((text) => LETTER.test(text), "must hold a letter or a digit");

const frontMatter = z.object({
  name: line(64).regex(NAME, "must be lowercase letters, digits and single hyphens between them"),
  description: line(1_024),
  triggers: z
    .array(trigger, "must be a list of texts")
    .max(MAX_TRIGGERS, `must have at most ${MAX_TRIGGERS} entries`)
    .default([]),
  license: line(500).nullish(),
  compatibility: line(500).nullish(),
  metadata: z
    .record(
      z.string(),
      z
        .union([z.string(), z.number(), z.boolean()], "must be a text")
        .transform(String)
        .refine((text) => text.length <= 1_000, "must have at most 1000 characters"),
      "must be a mapping of texts",
    )
    .nullish(),
  "allowed-tools": z
    .union(
      [z.string().transform((text) => text.split(/\s+/).filter((word) => word !== "")), z.array(z.string())],
      "must be names of tools, as one text or a list",
    )
    .nullish(),
});

/** The keys of the front matter that have a meaning. */
export const SKILL_KEYS: readonly string[] = Object.keys(frontMatter.shape);

/** `folder` is the name of the folder that the file stands in. */
export function parseSkill(folder: string, text: string): ParsedSkill {
  const found = HEAD.exec(text);
  const head = found?.[1];
  if (found === null || head === undefined) {
    return failed("", [issue(null, 1, "does not begin with front matter between two lines of ---")]);
  }
  const body = text.slice(found[0].length);
  if (head.length > MAX_HEAD)
    return failed(body, [issue(null, 1, `has front matter of more than ${MAX_HEAD} characters`)]);
  const read = readYaml(head);
  if ("problem" in read) return failed(body, [read.problem]);
  const { value, lineOf } = read;
  const parsed = frontMatter.safeParse(value);
  const warnings = [...unusedKeys(value, lineOf), ...unseenIn(text), ...emptyBody(body)];
  if (!parsed.success) {
    const errors = parsed.error.issues.map(({ path, message }) => issue(keyOf(path), lineOf(path), message));
    return failed(body, [...errors, ...warnings]);
  }
  const { name, description, triggers, license, compatibility, metadata } = parsed.data;
  if (name !== folder) {
    return failed(body, [
      issue("name", lineOf(["name"]), `must be the name of its folder, which is "${folder}"`),
      ...warnings,
    ]);
  }
  return {
    head: {
      name,
      description,
      triggers,
      license: license ?? null,
      compatibility: compatibility ?? null,
      metadata: metadata ?? {},
      allowedTools: parsed.data["allowed-tools"] ?? [],
    },
    body,
    issues: warnings,
  };
}

type LineOf = (path: readonly PropertyKey[]) => number | null;

function readYaml(
  head: string,
): { readonly value: unknown; readonly lineOf: LineOf } | { readonly problem: SkillIssue } {
  const lines = new LineCounter();
  // The first line is that of the three hyphens.
  const lineAt = (offset: number | undefined) => (offset === undefined ? null : lines.linePos(offset).line + 1);
  const document = parseDocument<ParsedNode>(head, { schema: "core", lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) return { problem: issue(null, lineAt(broken.pos[0]), `is not YAML: ${lineEnd(broken.message)}`) };
  let alias: number | undefined;
  visit(document, {
    Alias: (_, node) => {
      alias = node.range?.[0];
      return visit.BREAK;
    },
  });
  // A few of them can stand for gigabytes.
  if (alias !== undefined)
    return { problem: issue(null, lineAt(alias), "refers to another value (*name), which is not read") };
  if (!isMap(document.contents)) return { problem: issue(null, 2, "must be a mapping of keys and values") };
  const lineOf: LineOf = (path) => {
    for (let length = path.length; length > 0; length--) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      const range = typeof node === "object" && node !== null && "range" in node ? node.range : undefined;
      if (Array.isArray(range) && typeof range[0] === "number") return lineAt(range[0]);
    }
    return null;
  };
  return { value: document.toJS({ maxAliasCount: 0 }), lineOf };
}

function unusedKeys(value: unknown, lineOf: LineOf): SkillIssue[] {
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
  return keys
    .filter((key) => !SKILL_KEYS.includes(key))
    .map((key) => warning(key, lineOf([key]), `has no meaning here: there are ${SKILL_KEYS.join(", ")}`));
}

/** Agents get the text without them, and people do not see them. */
function unseenIn(text: string): SkillIssue[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  const at = lines.findIndex((one) => visibleText(one.replaceAll("\t", " ")) !== one.replaceAll("\t", " "));
  return at === -1
    ? []
    : [warning(null, at + 1, "holds characters that are not seen: agents get the text without them")];
}

function emptyBody(body: string): SkillIssue[] {
  return body.trim() === "" ? [warning(null, null, "says nothing after its front matter")] : [];
}

/** `triggers[1]`, `metadata.author`. */
function keyOf(path: readonly PropertyKey[]): string | null {
  const key = path.reduce<string>((whole, part) => {
    if (typeof part === "number") return `${whole}[${part}]`;
    return whole === "" ? String(part) : `${whole}.${String(part)}`;
  }, "");
  return key === "" ? null : key;
}

function lineEnd(message: string): string {
  return (message.split("\n", 1)[0] ?? "").replace(/[.:]$/, "");
}

function failed(body: string, issues: readonly SkillIssue[]): ParsedSkill {
  return { head: null, body, issues };
}

function issue(key: string | null, at: number | null, message: string): SkillIssue {
  return { severity: "error", file: SKILL_FILE, key, line: at, message };
}

function warning(key: string | null, at: number | null, message: string): SkillIssue {
  return { ...issue(key, at, message), severity: "warning" };
}

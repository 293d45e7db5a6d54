/** What a SKILL.md refers to in its own folder: links of its Markdown, and paths below the folders of the layout. */

import { SKILL_FILE, type SkillIssue } from "../../contracts/skill.ts";

/** References that are checked. */
const MAX_REFERENCES = 500;
const LINK = /\]\(\s{0,8}(?:<([^<>]{1,500})>|((?:[^\s()<>]|\([^\s()<>]{0,100}\)){1,500}))/g;
/** `[name]: target`, with nothing behind it but a title. */
const DEFINITION = /^ {0,3}\[[^[\]^]{1,200}\]:\s{0,8}(?:<([^<>]{1,500})>|([^\s<>]{1,500}))(?=\s+["'(]|\s*$)/g;
/** `[TODO]: later` is a note rather than a reference. */
const WORD = /^[^\s./\\]+$/;
const PATH = /(?<![\w./\\:%-])((?:\.{1,2}[/\\]|[/\\]){0,20}(?:scripts|references|assets)[/\\][\w./\\-]{0,300}\w)/gi;
const SCHEME = /^(?!file:)[a-z][a-z0-9+.-]*:/i;
const FENCE = /^ {0,3}(?:```|~~~)/;

/** Why a path is none of a file in the skill's folder; null where it is one. By its text alone. */
export function pathProblem(path: string): string | null {
  if (path === "" || path.length > 500) return "is no path of a file";
  if (/[\\\0:]/.test(path)) return "must be a path with slashes, without backslashes and colons";
  if (path.startsWith("/") || path === "~" || path.startsWith("~/")) return "must be relative to the skill's folder";
  const parts = path.split("/");
  if (parts.includes("..")) return "leads out of the skill's folder";
  if (parts.some((part) => part === "" || part === ".")) return "must be written without empty parts";
  if (parts.some((part) => part.startsWith(".") || part === "node_modules"))
    return "is hidden: such files are no part of a skill";
  return null;
}

/** `files` are all files of the skill, relative to its folder. */
export function checkReferences(text: string, files: readonly string[]): readonly SkillIssue[] {
  const issues: SkillIssue[] = [];
  const there = new Set(
    files.flatMap((file) => file.split("/").map((_, depth, parts) => parts.slice(0, depth + 1).join("/"))),
  );
  const seen = new Set<string>();
  for (const { path, line } of referencesIn(text)) {
    if (seen.has(path) || seen.size >= MAX_REFERENCES) continue;
    seen.add(path);
    const relative = path.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
    const problem = pathProblem(relative) ?? (there.has(relative) ? null : missing(relative, there));
    if (problem !== null)
      issues.push({
        severity: "error",
        file: SKILL_FILE,
        key: null,
        line,
        message: `refers to ${path}, which ${problem}`,
      });
  }
  return issues;
}

function missing(path: string, there: ReadonlySet<string>): string {
  const other = [...there].find((name) => name.toLowerCase() === path.toLowerCase());
  return other === undefined ? "is not there" : `is written ${other} on the disk`;
}

function* referencesIn(text: string): Generator<{ readonly path: string; readonly line: number }> {
  let inFence = false;
  let line = 0;
  for (const content of text.split("\n")) {
    line += 1;
    if (FENCE.test(content)) inFence = !inFence;
    const links = inFence ? [] : targetsIn(content, LINK);
    const defined = inFence ? [] : targetsIn(content, DEFINITION).filter((path) => !WORD.test(path));
    const paths = [...content.replaceAll(LINK, "](").replaceAll(DEFINITION, "").matchAll(PATH)];
    for (const path of [...links, ...defined, ...paths.map(([, path = ""]) => path)]) yield { path, line };
  }
}

function targetsIn(content: string, pattern: RegExp): string[] {
  const targets = [...content.matchAll(pattern)].map(([, quoted, plain = ""]) => targetOf(quoted ?? plain));
  return targets.filter((path) => path !== null);
}

/** Null for what leads to the web, or into the text itself. */
function targetOf(target: string): string | null {
  const path = target.replace(/[?#].*$/, "");
  if (path === "" || SCHEME.test(path) || path.startsWith("//")) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * A page of the wiki as text: front matter, what people wrote, and one marked part that the runtime keeps. Only that part and
 * the runtime's own keys of the front matter ever change; merging the same source twice changes nothing.
 */

import { isMap, parseDocument } from "yaml";

export interface Statement {
  readonly text: string;
  /** Ids of the summaries that it comes from; at least one. */
  readonly sources: readonly string[];
}

export interface PageUpdate {
  readonly title: string;
  /** The summary that the statements are from; its earlier statements on this page are replaced. */
  readonly source: string;
  readonly statements: readonly string[];
  readonly now: Date;
  /** Characters of the marked part; the oldest statements beyond it are left out. */
  readonly limit: number;
}

const BEGIN = "<!-- cairn:begin: this part is kept by the runtime, write above or below it -->";
const END = "<!-- cairn:end -->";
/** From the last begin before an end: one whose end an editor has deleted is text, and so is what follows it. */
const PART = /<!-- cairn:begin\b[^>]*-->\r?\n?((?:(?!<!-- cairn:begin\b)[\s\S])*?)<!-- cairn:end -->/;
const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** `- Text. [summary:1f0c...]` */
const STATEMENT = /^- (.+?)((?: \[summary:[0-9a-f-]{36}\])+)$/;
const SUMMARY_ID = /^[0-9a-f-]{36}$/;
const REFERENCE = /\[summary:([0-9a-f-]{36})\]/g;

/** The page with the update in it; `existing` is null where there is none yet. */
export function mergePage(existing: string | null, update: PageUpdate): string {
  const { title, source, now, limit } = update;
  const { matter, body } = split(existing ?? `\n# ${title}\n\n${BEGIN}\n${END}\n`);
  const part = PART.exec(body);
  const { statements, others } = readPart(part?.[1] ?? "");
  const kept = withoutSource(statements, source);
  for (const text of update.statements) addStatement(kept, text, source);
  const bounded = newestWithin(kept, limit);
  const lines = [...others, ...bounded.map(renderStatement)];
  const written = `${BEGIN}\n${lines.map((line) => `${line}\n`).join("")}${END}`;
  const replaced = part === null ? `${body.replace(/\n*$/, "\n\n")}${written}\n` : body.replace(PART, () => written);
  const leftOut = leftOutBefore(matter) + kept.length - bounded.length;
  return (
    renderMatter(matter, {
      title,
      updated: now.toISOString(),
      statements: bounded.length,
      left_out: leftOut > 0 ? leftOut : undefined,
      sources: [...new Set(bounded.flatMap(({ sources }) => sources))],
    }) + replaced
  );
}

/** The page without what the sources alone have said; the same text where it says nothing of theirs. */
export function withdrawSources(existing: string, sources: ReadonlySet<string>, now: Date): string {
  const { matter, body } = split(existing);
  const part = PART.exec(body);
  if (part === null) return existing;
  const { statements, others } = readPart(part[1] ?? "");
  if (!statements.some((one) => one.sources.some((id) => sources.has(id)))) return existing;
  const kept = [...sources].reduce(withoutSource, statements);
  const lines = [...others, ...kept.map(renderStatement)];
  const written = `${BEGIN}\n${lines.map((line) => `${line}\n`).join("")}${END}`;
  const leftOut = leftOutBefore(matter);
  return (
    renderMatter(matter, {
      updated: now.toISOString(),
      statements: kept.length,
      left_out: leftOut > 0 ? leftOut : undefined,
      sources: [...new Set(kept.flatMap((one) => one.sources))],
    }) + body.replace(PART, () => written)
  );
}

export interface PageFacts {
  readonly title: string;
  readonly updated: string;
  readonly statements: number;
}

/** A page's entry in an index; null for a text that is no page of the runtime. */
export function pageFacts(text: string): PageFacts | null {
  const document = parseDocument(FRONT_MATTER.exec(text)?.[1] ?? "");
  if (document.errors.length > 0 || !isMap(document.contents)) return null;
  const { title, updated, statements } = document.toJS() as Record<string, unknown>;
  if (typeof title !== "string" || title === "" || typeof statements !== "number") return null;
  return { title, updated: typeof updated === "string" ? updated : "", statements };
}

/** The index page, with what people wrote on it kept. */
export function mergeIndex(existing: string | null, pages: readonly (PageFacts & { readonly slug: string })[]): string {
  const lines = [...pages]
    .sort((a, b) => a.title.localeCompare(b.title, "en") || (a.slug < b.slug ? -1 : 1))
    .map(({ slug, title, updated, statements }) => {
      const day = updated === "" ? "" : `, ${updated.slice(0, 10)}`;
      return `- [${title.replace(/[[\]\\]/g, "\\$&")}](${slug}.md) (${statements}${day})\n`;
    });
  const written = `${BEGIN}\n${lines.join("")}${END}`;
  if (existing === null) return `# Wiki\n\n${written}\n`;
  if (PART.test(existing)) return existing.replace(PART, () => written);
  return `${existing.replace(/\n*$/, "\n\n")}${written}\n`;
}

function split(text: string): { readonly matter: string; readonly body: string } {
  const found = FRONT_MATTER.exec(text);
  return found === null ? { matter: "", body: text } : { matter: found[1] ?? "", body: text.slice(found[0].length) };
}

function readPart(part: string): { readonly statements: Statement[]; readonly others: readonly string[] } {
  const statements: Statement[] = [];
  const others: string[] = [];
  for (const line of part.split(/\r?\n/)) {
    const found = STATEMENT.exec(line);
    if (found === null) {
      if (line.trim() !== "") others.push(line);
      continue;
    }
    const [, text = "", references = ""] = found;
    statements.push({ text, sources: [...references.matchAll(REFERENCE)].map(([, id = ""]) => id) });
  }
  return { statements, others };
}

function withoutSource(statements: readonly Statement[], source: string): Statement[] {
  return statements
    .map(({ text, sources }) => ({ text, sources: sources.filter((id) => id !== source) }))
    .filter(({ sources }) => sources.length > 0);
}

/** A statement that another source has already gets this source, too. */
function addStatement(statements: Statement[], text: string, source: string): void {
  const same = statements.findIndex((one) => comparable(one.text) === comparable(text));
  const former = statements[same];
  if (former === undefined) statements.push({ text, sources: [source] });
  else if (!former.sources.includes(source)) statements[same] = { ...former, sources: [...former.sources, source] };
}

function comparable(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function renderStatement({ text, sources }: Statement): string {
  return `- ${text}${sources.map((id) => ` [summary:${id}]`).join("")}`;
}

function newestWithin(statements: readonly Statement[], limit: number): Statement[] {
  let room = limit;
  const first = statements.findLastIndex((statement) => {
    room -= renderStatement(statement).length + 1;
    return room < 0;
  });
  return statements.slice(first + 1);
}

function leftOutBefore(matter: string): number {
  const found = /^left_out: (\d+)$/m.exec(matter);
  return found === null ? 0 : Number(found[1]);
}

/** A list that was written there by hand: no ids of summaries. */
function foreignSources(sources: unknown): unknown[] {
  const list = Array.isArray(sources) ? sources : sources === undefined || sources === null ? [] : [sources];
  return list.filter((source) => typeof source !== "string" || !SUMMARY_ID.test(source));
}

/** Keys and comments of others stay where they are; front matter that is not readable is kept below ours as text. */
function renderMatter(matter: string, values: Readonly<Record<string, unknown>>): string {
  const given = parseDocument(matter === "" ? "{}" : matter);
  const readable = given.errors.length === 0 && isMap(given.contents);
  const document = readable ? given : parseDocument("{}");
  if (isMap(document.contents)) document.contents.flow = false;
  const { title, sources } = (document.toJS() ?? {}) as Record<string, unknown>;
  for (const [key, ours] of Object.entries(values)) {
    const value = key === "sources" && Array.isArray(ours) ? [...foreignSources(sources), ...ours] : ours;
    if (key === "title" && typeof title === "string" && title.trim() !== "") continue;
    if (value === undefined) document.delete(key);
    else document.set(key, document.createNode(value));
  }
  const rest = readable || matter === "" ? "" : `\n${matter}\n`;
  return `---\n${document.toString({ lineWidth: 0 })}---\n${rest}`;
}

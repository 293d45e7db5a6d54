/**
 * Markdown as text, and how parts of it are shown. Marks are taken out of the source, and everything else stays as it is written: lists,
 * tables, HTML and what is no whole mark. Offsets are in UTF-16 code units.
 */

import type { Code, InlineCode, Link, Nodes, Parents } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmStrikethroughFromMarkdown } from "mdast-util-gfm-strikethrough";
import { gfmStrikethrough } from "micromark-extension-gfm-strikethrough";

export type Style = "bold" | "italic" | "strikethrough" | "code" | "pre" | "blockquote" | "text_link";

export interface Format {
  readonly type: Style;
  readonly offset: number;
  readonly length: number;
  /** Of a `pre`. */
  readonly language?: string;
  /** Of a `text_link`. */
  readonly url?: string;
}

export interface FormattedText {
  readonly text: string;
  /** In order, the outer one first. None is empty, two of them lie within each other or apart, and nothing shares a place with code but quotes. */
  readonly formats: readonly Format[];
}

interface Span extends Pick<Format, "language" | "url"> {
  readonly type: Style;
  readonly from: number;
  readonly to: number;
}

interface Marks {
  readonly cuts: (readonly [from: number, to: number])[];
  readonly spans: Span[];
}

const PARSING = {
  extensions: [gfmStrikethrough({ singleTilde: false })],
  mdastExtensions: [gfmStrikethroughFromMarkdown()],
};
const STYLES: Readonly<Partial<Record<Nodes["type"], Style>>> = {
  strong: "bold",
  emphasis: "italic",
  delete: "strikethrough",
  heading: "bold",
};
/** Of others Telegram makes no link, or the mention of a person. */
const LINKED = new Set(["http:", "https:"]);

export function formattedText(source: string): FormattedText {
  // The parser counts places without it.
  const markdown = source.replace(/^\ufeff/, "");
  const marks: Marks = { cuts: [], spans: [] };
  read(fromMarkdown(markdown, PARSING), { source: markdown, marks, inside: new Set() });
  const code = marks.spans.filter(({ type }) => isCode(type));
  const spans = marks.spans.flatMap((span) =>
    isCode(span.type) || span.type === "blockquote" ? [span] : around(span, code),
  );
  const { text, at } = withoutCuts(markdown, marks.cuts);
  if (text.trim() === "") return { text: markdown, formats: [] };
  const blank = text.length - text.trimStart().length;
  // The first line of code keeps its indentation.
  const first = code.find(({ from, to }) => at(from) <= blank && at(to) > blank);
  const shift = first === undefined ? blank : Math.max(at(first.from), text.lastIndexOf("\n", blank - 1) + 1);
  const formats = spans.flatMap(({ from, to, ...span }) => {
    const shown = text.slice(at(from), at(to)).trimEnd();
    const indented = isCode(span.type) ? shown.replace(/^(?:[ \t]*\r?\n)+/, "") : shown.trimStart();
    const begin = shown.length - indented.length;
    const length = shown.length - begin;
    return shown.trim() === "" ? [] : [{ ...span, offset: at(from) + begin - shift, length }];
  });
  // Sorting keeps the order of equal ones: the outer one was read first.
  return {
    text: text.slice(shift).trimEnd(),
    formats: formats.sort((a, b) => a.offset - b.offset || b.length - a.length),
  };
}

interface Reading {
  readonly source: string;
  readonly marks: Marks;
  /** Styles that hold already. */
  readonly inside: ReadonlySet<Style>;
}

function read(node: Nodes, reading: Reading): void {
  const { source, marks, inside } = reading;
  const [from, to] = placeOf(node);
  if (node.type === "text") {
    for (const { index } of source.slice(from, to).matchAll(/\\(?=[!-/:-@[-`{-~])./g))
      marks.cuts.push([from + index, from + index + 1]);
  } else if (node.type === "break" && source[from] === "\\") marks.cuts.push([from, from + 1]);
  else if (node.type === "inlineCode") readInlineCode(node, reading);
  else if (node.type === "code") readCode(node, reading);
  if (!("children" in node)) return;
  const style =
    node.type === "link" && isLinked(node, inside)
      ? "text_link"
      : node.type === "blockquote"
        ? "blockquote"
        : STYLES[node.type];
  if (style !== undefined) readStyled(node, style, reading);
  const within = style === undefined ? reading : { ...reading, inside: new Set([...inside, style]) };
  for (const child of node.children) read(child, within);
}

function readStyled(node: Parents, type: Style, { source, marks, inside }: Reading): void {
  const [from, to] = placeOf(node);
  if (type === "blockquote") {
    // One in another one keeps its marks.
    if (inside.has(type)) return;
    for (const { index, 0: mark } of source.slice(from, to).matchAll(/^[ \t]*> ?/gm))
      marks.cuts.push([from + index, from + index + mark.length]);
    marks.spans.push({ type, from, to });
    return;
  }
  const [first, last] = [node.children[0], node.children.at(-1)];
  if (first === undefined || last === undefined) return;
  const [begin, end] = [placeOf(first)[0], placeOf(last)[1]];
  marks.cuts.push([from, begin], [end, to]);
  const url = node.type === "link" ? { url: node.url } : {};
  if (!inside.has(type)) marks.spans.push({ type, from: begin, to: end, ...url });
}

function readInlineCode(node: InlineCode, { source, marks, inside }: Reading): void {
  const [from, to] = placeOf(node);
  const raw = source.slice(from, to);
  const ticks = /^`+/.exec(raw)?.[0].length ?? 0;
  const padding = /^ .*[^ ].* $/s.test(raw.slice(ticks, -ticks)) ? 1 : 0;
  const [begin, end] = [from + ticks + padding, to - ticks - padding];
  marks.cuts.push([from, begin], [end, to]);
  // What is linked goes before.
  if (!inside.has("text_link")) marks.spans.push({ type: "code", from: begin, to: end });
}

/** One that is indented stays as it is. */
function readCode({ value, lang, meta, ...node }: Code, { source, marks }: Reading): void {
  const [from, to] = placeOf(node);
  const [, marker = "", info = ""] = /^(`{3,}|~{3,})([^\n]*)\n/.exec(source.slice(from, to)) ?? [];
  if (marker === "" || value.trim() === "") return;
  const begin = from + marker.length + info.length + 1;
  const closing = /\r?\n[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.exec(source.slice(begin - 1, to));
  const isClosed = closing?.[0].trim().endsWith(marker) ?? false;
  const end = closing && isClosed ? begin - 1 + closing.index : to;
  // More than a language's name is text.
  const isLanguage = lang && !meta && /^[\w+#.-]{1,40}$/.test(lang);
  marks.cuts.push([from, isLanguage || info.trim() === "" ? begin : from + marker.length], [end, to]);
  marks.spans.push({ type: "pre", from: begin, to: end, ...(isLanguage ? { language: lang } : {}) });
}

/** A title would be lost. */
function isLinked({ url, title }: Link, inside: ReadonlySet<Style>): boolean {
  return !title && !inside.has("text_link") && URL.canParse(url) && LINKED.has(new URL(url).protocol);
}

function isCode(type: Style): boolean {
  return type === "code" || type === "pre";
}

/** What is left of it beside the code in it. */
function around(span: Span, code: readonly Span[]): Span[] {
  const rest: Span[] = [];
  let { from } = span;
  for (const { from: begin, to: end } of code) {
    if (begin < span.from || end > span.to) continue;
    rest.push({ ...span, from, to: begin });
    from = end;
  }
  return [...rest, { ...span, from }];
}

/** `at`: where in the text a place of the source is. */
function withoutCuts(source: string, cuts: Marks["cuts"]): { readonly text: string; at(place: number): number } {
  const isCut = new Uint8Array(source.length);
  for (const [from, to] of cuts) isCut.fill(1, from, to);
  const places = new Uint32Array(source.length + 1);
  const kept: string[] = [];
  for (let place = 0; place < source.length; place++) {
    places[place] = kept.length;
    if (isCut[place] === 0) kept.push(source[place] ?? "");
  }
  places[source.length] = kept.length;
  return { text: kept.join(""), at: (place) => places[place] ?? kept.length };
}

function placeOf({ position }: Pick<Nodes, "position">): readonly [from: number, to: number] {
  return [position?.start.offset ?? 0, position?.end.offset ?? 0];
}

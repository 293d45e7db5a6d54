/** Whose row it is: the tags of memory_append and memory_ingest_session (specification, "Memory tools"). */

import { createHash } from "node:crypto";
import type { Issue } from "../contracts/errors.ts";
import { isOneLine } from "./prompt-data.ts";

export interface Tags {
  /** What wrote it: the name of a harness, an integration, a bot bridge. */
  readonly source: string;
  readonly agent: string;
  readonly channel: string;
  /** Kept in the row's metadata. */
  readonly persona?: string;
}

/** Absent and blank are the same. */
export type GivenTags = { readonly [Name in keyof Tags]?: string | undefined };

/** Default tags of a client of the Model Context Protocol. */
export const DEFAULT_TAGS = { source: "mcp", agent: "mcp", channel: "mcp" } as const satisfies Tags;

const BOT_PREFIX = "bot-";
const MAX_SLUG = 60;

/** In UTF-16 units: a tag is a name. */
export const LONGEST_TAG = 200;

/**
 * What is wrong with tags that a program gives: they stand in headings of prompts, where a line break or a bracket would forge
 * another heading. A title may hold brackets, since it is not put between brackets.
 */
export function tagIssues(tags: { readonly [path: string]: string | null | undefined }): Issue[] {
  return Object.entries(tags).flatMap(([path, tag]) => {
    const message = tag === undefined || tag === null ? null : wrongTag(tag, path === "title");
    return message === null ? [] : [{ path, message }];
  });
}

function wrongTag(tag: string, isTitle: boolean): string | null {
  if (tag.length > LONGEST_TAG) return `must be at most ${LONGEST_TAG} characters long`;
  if (!isOneLine(tag)) return "must be one line without control characters";
  return !isTitle && /[[\]{}<>]/.test(tag) ? "must hold none of [ ] { } < >" : null;
}

/**
 * Each tag from the call, else from the environment, else the default. Where the source is a bot bridge (`bot`, or
 * beginning with `bot-`), the agent's tag is that of the bot: the slug of the agent given, else of the persona.
 */
export function resolveTags(call: GivenTags, environment: GivenTags): Tags {
  const given = (name: keyof Tags) => present(call[name]) ?? present(environment[name]);
  const source = given("source") ?? DEFAULT_TAGS.source;
  const persona = given("persona");
  const agent = given("agent");
  return {
    source,
    agent: isBotBridge(source) ? botAgent(agent ?? persona ?? "") : (agent ?? DEFAULT_TAGS.agent),
    channel: given("channel") ?? DEFAULT_TAGS.channel,
    ...(persona === undefined ? {} : { persona }),
  };
}

/**
 * The agent tag of a bot: `bot-` and a slug of a-z, 0-9 and single hyphens. Slugs map to themselves. A name that has no
 * such letters, or too many of them, is made distinct by a hash.
 */
export function botAgent(name: string): string {
  const slug = slugOf(name.trim().toLowerCase().startsWith(BOT_PREFIX) ? name.trim().slice(BOT_PREFIX.length) : name);
  if (slug.length > 0 && slug.length <= MAX_SLUG) return BOT_PREFIX + slug;
  if (name.trim() === "") return `${BOT_PREFIX}bridge`;
  const hash = createHash("sha256").update(name.trim(), "utf8").digest("hex").slice(0, 8);
  const head = slug.slice(0, MAX_SLUG - hash.length - 1).replace(/-+$/, "");
  return BOT_PREFIX + (head === "" ? hash : `${head}-${hash}`);
}

function isBotBridge(source: string): boolean {
  return /^bot(-|$)/i.test(source);
}

function slugOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}

function present(tag: string | undefined): string | undefined {
  const text = tag?.trim();
  return text === "" ? undefined : text;
}

/**
 * What shows parts of a text otherwise (Bot API, MessageEntity). The platform refuses places that are none, and corrects or leaves out the
 * rest; here that is refused, too, so that it is seen.
 */

import { type Entity, Refusal } from "./bot.ts";

const MOST_ENTITIES = 100;
const STYLES = new Set(["bold", "italic", "underline", "strikethrough", "spoiler"]);
const QUOTES = new Set(["blockquote", "expandable_blockquote"]);
const CODE = new Set(["code", "pre"]);

export function checkedEntities(value: unknown, text: string): readonly Entity[] {
  const entities: readonly Entity[] = (typeof value === "string" ? JSON.parse(value) : value) ?? [];
  if (entities.length > MOST_ENTITIES) throw refusal("too many entities");
  for (const entity of entities) {
    checkPlace(entity, text);
    if (entity.type === "text_link" && !isLink(entity)) throw refusal("wrong URL of an entity");
    for (const other of entities) if (other !== entity) checkPair(entity, other);
  }
  return entities;
}

function checkPlace({ offset, length }: Entity, text: string): void {
  if (!Number.isInteger(offset) || offset < 0) throw refusal(`receive an entity with incorrect offset ${offset}`);
  if (!Number.isInteger(length) || length <= 0) throw refusal(`receive an entity with incorrect length ${length}`);
  const [begin, end] = [`entity beginning at UTF-16 offset ${offset}`, offset + length];
  if (end > text.length) throw refusal(`${begin} ends after the end of the text at UTF-16 offset ${end}`);
  if (!text.slice(0, offset).isWellFormed()) throw refusal(`${begin} begins in a middle of a UTF-16 symbol`);
  if (!text.slice(0, end).isWellFormed()) throw refusal(`${begin} ends in a middle of a UTF-16 symbol`);
}

function checkPair(outer: Entity, inner: Entity): void {
  const [a, b] = [outer.offset + outer.length, inner.offset + inner.length];
  if (inner.offset < outer.offset || inner.offset >= a) return;
  if (b > a) throw refusal("entities overlap");
  const [quotes, styles] = [QUOTES.has(outer.type), STYLES.has(outer.type) || STYLES.has(inner.type)];
  const isCode = CODE.has(inner.type) || CODE.has(outer.type);
  const isSameStyle = outer.type === inner.type;
  if (isSameStyle || (isCode && !quotes) || (!styles && !quotes)) {
    throw refusal(`an entity ${inner.type} in one of ${outer.type}`);
  }
}

function isLink(entity: Entity): boolean {
  return "url" in entity && /^https?:/i.test(String(entity.url));
}

function refusal(what: string): Refusal {
  return new Refusal(400, `Bad Request: ${what}`);
}

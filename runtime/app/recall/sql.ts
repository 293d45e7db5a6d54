import { sanitize } from "../../domain/cap.ts";

/** Small help to build a statement whose parts depend on what was asked; values always travel as parameters. */

/** Collects values; `add` answers the placeholder to write into the SQL. */
export class Values {
  readonly #values: unknown[] = [];

  add(value: unknown): string {
    this.#values.push(storable(value));
    return `$${this.#values.length}`;
  }

  get list(): readonly unknown[] {
    return this.#values;
  }
}

function storable(value: unknown): unknown {
  if (typeof value === "string") return sanitize(value);
  return Array.isArray(value) ? value.map(storable) : value;
}

/** One tsquery that matches any of the lexemes, or null when there is none. */
export function anyOf(lexemes: readonly string[]): string | null {
  return lexemes.length === 0 ? null : lexemes.map(quoteLexeme).join(" | ");
}

/** A lexeme as an operand of a tsquery in text form. */
export function quoteLexeme(lexeme: string): string {
  return `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** A pattern of `like` for texts that contain the word. */
export function containing(word: string): string {
  return `%${word.replaceAll(/[\\%_]/g, "\\$&")}%`;
}

/**
 * The statement with a text of its own, so that it is planned for its values and never kept as a named statement: a plan
 * that is good for a rare word is terrible for a common one.
 */
export function plannedForItsValues(sql: string, number: number): string {
  return `${sql}\n-- ${number}`;
}

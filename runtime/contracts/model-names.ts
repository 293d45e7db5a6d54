/** Names of models, and the lists of them that servers give. Pure. */

import { distance } from "fastest-levenshtein";
import { isRecord } from "./values.ts";

/** What a provider's server lists. */
export interface ListedModels {
  readonly names: readonly string[];
  /** Whether it has no others: a service elsewhere may take names that its list leaves out. */
  readonly complete: boolean;
}

/**
 * As OpenAI and Anthropic write a list (`data`, `id`), or Gemini and Ollama (`models`, `name`); Gemini puts `models/` before each.
 * Null for what is no list, or a part of one only.
 */
export function modelNames(body: unknown): readonly string[] | null {
  if (!isRecord(body) || body["has_more"] === true || body["nextPageToken"]) return null;
  const entries: unknown = body["data"] ?? body["models"];
  if (!Array.isArray(entries)) return null;
  return entries.flatMap((entry: unknown) => {
    const name = isRecord(entry) ? (entry["id"] ?? entry["name"]) : undefined;
    return typeof name === "string" ? [name.replace(/^models\//, "")] : [];
  });
}

/** Whether a list of models has one, also by the short names that servers take: without `:latest`, without a date, and `...-latest`. */
export function hasModel(models: readonly string[], wanted: string): boolean {
  const name = normal(wanted);
  if (name.endsWith("-latest")) return true;
  return models.some((model) => {
    const has = normal(model);
    return has === name || has.startsWith(`${name}-`);
  });
}

/** The sentences for a model that a list does not have, with at most three that it has. */
export function lacksModel(provider: string, models: readonly string[], wanted: string): string {
  const near = nearestModels(models, wanted);
  const has = near.length === 0 ? "It lists none" : `Nearest of those that it lists: ${near.join(", ")}`;
  return `The provider ${provider} does not list the model ${wanted}. ${has}.`;
}

const MOST_NAMED = 3;

/** The nearest first: those that begin with it, then those of the fewest other letters. */
function nearestModels(models: readonly string[], wanted: string): readonly string[] {
  const name = normal(wanted);
  const apart = (model: string): number => (normal(model).startsWith(name) ? 0 : distance(normal(model), name));
  return models.toSorted((one, other) => apart(one) - apart(other)).slice(0, MOST_NAMED);
}

function normal(name: string): string {
  return name.toLowerCase().replace(/:latest$/, "");
}

/** Which messages one leaf takes: the oldest, whole, as many as fit into one question to the model. */

import type { CountTokens } from "../tokens.ts";
import type { Budget } from "./budgets.ts";
import { messageBody, messageEntry, type SourceMessage } from "./entries.ts";
import { identifiersIn } from "./identifiers.ts";

export interface Batch {
  readonly messages: readonly SourceMessage[];
  /** Those in the system messages, each once, in order of appearance. */
  readonly identifiers: readonly string[];
  /** The first message alone is longer than one request: it is the only one, and is sent in parts. */
  readonly oversized: boolean;
}

export interface BatchBuilder {
  /** False once the message does not fit any more; it and what follows belong to a later leaf. */
  take(message: SourceMessage): boolean;
  batch(): Batch;
}

/** Instructions and preamble, in tokens. */
const OVERHEAD = 1_500;
/** Blank lines and the like around an entry. */
const AROUND = 2;

/** Tokens that the entries of one question may have. */
export function roomFor(budget: Budget): number {
  return Math.max(1, budget.input - budget.identifiers - OVERHEAD);
}

export function createBatch(budget: Budget, count: CountTokens): BatchBuilder {
  const room = roomFor(budget);
  const messages: SourceMessage[] = [];
  const identifiers = new Set<string>();
  let used = 0;
  let ofIdentifiers = 0;
  let oversized = false;
  return {
    take(message) {
      if (oversized) return false;
      const cost = entryCost(messageEntry(message, messages.length + 1), room, count);
      const fresh =
        message.role === "system" ? identifiersIn(messageBody(message)).filter((id) => !identifiers.has(id)) : [];
      const more = fresh.reduce((sum, identifier) => sum + identifierCost(identifier, count), 0);
      const fits = used + cost <= room && ofIdentifiers + more <= budget.identifiers;
      if (!fits && messages.length > 0) return false;
      messages.push(message);
      for (const identifier of fresh) identifiers.add(identifier);
      used += cost;
      ofIdentifiers += more;
      oversized = used > room;
      return true;
    },
    batch: () => ({ messages, identifiers: [...identifiers], oversized }),
  };
}

/** Text of more units than this for each token of the room does not fit, and need not be counted. */
const UNITS_PER_TOKEN = 8;

function entryCost(entry: string, room: number, count: CountTokens): number {
  return entry.length > room * UNITS_PER_TOKEN ? Number.POSITIVE_INFINITY : count(entry) + AROUND;
}

/** What an identifier takes of a summary, with a comma after it. */
function identifierCost(identifier: string, count: CountTokens): number {
  return count(identifier) + 1;
}

/** As many identifiers, from the first, as a summary has room for; the rest stays in the sources. */
export function demandable(identifiers: readonly string[], budget: Budget, count: CountTokens): readonly string[] {
  let used = 0;
  const fitting: string[] = [];
  for (const identifier of identifiers) {
    used += identifierCost(identifier, count);
    if (used > budget.identifiers) break;
    fitting.push(identifier);
  }
  return fitting;
}

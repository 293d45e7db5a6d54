import type { Database } from "../../contracts/database.ts";
import { ProviderError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { type Extract, NOTHING, readExtract, type Topic } from "../../domain/wiki/answer.ts";
import { wikiPrompt } from "../../domain/wiki/prompt.ts";
import type { WikiPages } from "./pages.ts";
import { isForgotten, markExtracted, readSource, type WikiSource } from "./sources.ts";

/**
 * Sorts a summary into the pages of an agent's wiki: the model proposes statements, those with a source that exists are
 * merged into the files, and then the summary counts as done. Interrupted anywhere, it can be done again.
 */

export interface WikiExtractionDeps {
  readonly database: Database;
  readonly model: TextModel;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Characters of what the runtime keeps on one page. */
  readonly pageLimit: number;
}

export interface WikiExtraction {
  /** Pages that were written; 0 where there was nothing to do. Rejects like Synthesis.run, and where the folder cannot be used. */
  run(agent: string, summaryId: string, pages: WikiPages, signal: AbortSignal): Promise<number>;
}

const ASKS = 2;
const MAX_TOKENS = 6_000;
/** What the one source is called towards the model: long ids are copied wrongly. */
const REFERENCE = "S1";

export function createWikiExtraction(deps: WikiExtractionDeps): WikiExtraction {
  const { database, clock, logger, pageLimit } = deps;
  return {
    async run(agent, summaryId, pages, signal) {
      signal.throwIfAborted();
      const source = await readSource(database, agent, summaryId);
      if (source === null) return 0;
      const topics = await ask(deps, source, await pages.titles(), signal);
      signal.throwIfAborted();
      const now = clock.now();
      const updates = topics.map((topic) => ({ ...topic, source: source.id, now, limit: pageLimit }));
      const written = updates.length === 0 ? 0 : await pages.write(updates, signal);
      // Forgotten while the model wrote: then the pages say nothing of it.
      if (await isForgotten(database, source.id)) {
        await pages.withdraw(new Set([source.id]), clock.now(), signal);
        return 0;
      }
      await markExtracted(database, agent, source.id, written);
      logger.info({ agent, summary: source.id, pages: written }, "a summary is in the wiki");
      return written;
    },
  };
}

async function ask(
  { model, redact, logger }: WikiExtractionDeps,
  source: WikiSource,
  titles: readonly string[],
  signal: AbortSignal,
): Promise<readonly Topic[]> {
  let refused: string | undefined;
  for (let asked = 1; ; asked += 1) {
    const given = { reference: REFERENCE, summary: source.content, titles, redact };
    const { system, user } = wikiPrompt(refused === undefined ? given : { ...given, refused });
    const { text, truncated } = await model.complete({ system, user, maxTokens: MAX_TOKENS, thinking: true, signal });
    const extract = readExtract({ answer: text, reference: REFERENCE, source: source.content, redact });
    const wrong = whatIsWrong(text, truncated, extract);
    if (wrong === null) return extract.topics;
    logger.warn(
      { summary: source.id, model: model.model, refused: extract.refused.length, reason: wrong },
      "lines for the wiki were refused",
    );
    if (asked < ASKS) refused = wrong;
    // What has a source stands; only the other lines are left out.
    else if (extract.topics.length > 0) return extract.topics;
    else {
      throw new ProviderError("PROVIDER_BAD_RESPONSE", `The model's pages were not taken: ${wrong}.`, {
        hint: "A larger model keeps the form better.",
      });
    }
  }
}

function whatIsWrong(text: string, truncated: boolean, { topics, refused }: Extract): string | null {
  const [first] = refused;
  if (first !== undefined) return `of the line "${first.line.slice(0, 80)}", ${first.reason}`;
  if (truncated) return "it was cut short";
  return topics.length === 0 && text.trim() !== NOTHING ? "it holds no statement" : null;
}

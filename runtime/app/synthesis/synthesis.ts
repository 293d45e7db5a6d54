import type { Database } from "../../contracts/database.ts";
import { ProviderError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { toolCallPrompt } from "../../domain/synthesis/prompt.ts";
import { checkSentence } from "../../domain/synthesis/sentence.ts";
import { type OpenCall, readOpenCall, writeSentence } from "./row.ts";

/**
 * Gives a tool call its sentence (specification, "Tool-call content synthesis"): reads the row, asks the model while no
 * connection is held, and writes the content once, also where another worker tries the same.
 */

export interface SynthesisDeps {
  readonly database: Database;
  readonly model: TextModel;
  /** Takes secrets out of what the model is shown; a sentence that it would change is refused. */
  readonly redact: (text: string) => string;
  readonly logger: Pick<Logger, "debug" | "warn">;
  /** A row has content now, so it can be embedded. Must return at once and never throw. */
  readonly onWritten?: () => void;
}

/** `unneeded`: the message has its content, is no tool call or does not exist. */
export type SynthesisOutcome = "written" | "unneeded";

export interface Synthesis {
  /**
   * Rejects with a ProviderError when the model fails, with PROVIDER_BAD_RESPONSE when it gives no acceptable sentence,
   * with a MemoryError when the store is unavailable, and with the signal's reason.
   */
  run(messageId: string, signal: AbortSignal): Promise<SynthesisOutcome>;
}

/** Answers that are asked for in one go; the job's own retries ask again later. */
const ASKS = 2;
const MAX_TOKENS = 400;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function createSynthesis(deps: SynthesisDeps): Synthesis {
  const { database, logger } = deps;
  return {
    async run(messageId, signal) {
      signal.throwIfAborted();
      const call = UUID.test(messageId) ? await readOpenCall(database, messageId) : null;
      if (call === null) return "unneeded";
      const sentence = await ask(deps, messageId, call, signal);
      signal.throwIfAborted();
      if (!(await writeSentence(database, messageId, sentence))) return "unneeded";
      logger.debug({ message: messageId, tool: call.toolName }, "a tool call has its sentence");
      deps.onWritten?.();
      return "written";
    },
  };
}

async function ask(
  { model, redact, logger }: SynthesisDeps,
  messageId: string,
  call: OpenCall,
  signal: AbortSignal,
): Promise<string> {
  // What was shown first, without the words about a refused answer: they name what the call does not hold.
  const source = [toolCallPrompt(call, redact).user, ...call.texts].join("\n");
  let refused: string | undefined;
  for (let asked = 0; asked < ASKS; asked += 1) {
    const { system, user } = toolCallPrompt(call, redact, refused);
    const { text, truncated } = await model.complete({ system, user, maxTokens: MAX_TOKENS, thinking: false, signal });
    const verdict = checkSentence({ answer: text, truncated, instructions: system, source, redact });
    if (verdict.accepted) return verdict.sentence;
    refused = verdict.reason;
    logger.warn(
      { message: messageId, tool: call.toolName, model: model.model, reason: refused },
      "a synthesized sentence failed validation",
    );
  }
  throw new ProviderError("PROVIDER_BAD_RESPONSE", `The model's sentence was not taken: ${refused}.`, {
    hint: "A larger model (TOOL_SYNTH_MODEL) keeps the rules better.",
  });
}

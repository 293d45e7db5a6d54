/** The agent's own models as a writer of summaries: asked as for a turn, so that hooks, fallbacks and the ledger see the call. */

import { ProviderError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Provider } from "../../contracts/provider.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { sanitize } from "../../domain/cap.ts";
import type { ModelRef } from "../../domain/model-ref.ts";
import type { ModelWindow } from "../../domain/model-window.ts";
import type { CountedCall } from "../../domain/usage.ts";
import type { ModelCaller } from "./model-caller.ts";

/** With the window of the first. Null where none of the chain is a language model. */
export function modelOfAgent(
  chain: readonly ModelRef[],
  providers: ReadonlyMap<string, Pick<Provider, "hasModel" | "getModel">>,
  windowOf: (provider: string) => ModelWindow,
  call: { readonly callModel: ModelCaller; readonly turn: TurnInfo; onAnswered(call: CountedCall): void },
): { readonly model: TextModel; readonly window: number } | null {
  const models = chain.filter(({ provider }) => providers.get(provider)?.hasModel !== false);
  const [first] = models;
  if (first === undefined) return null;
  const model = first.model ?? providers.get(first.provider)?.getModel() ?? first.provider;
  const writer: TextModel = {
    model,
    async complete({ system, user, maxTokens, signal }) {
      const messages = [{ role: "user", content: user }] as const;
      const reply = await call.callModel({
        turn: call.turn,
        chain: models,
        messages,
        // Reasoning would cost the user time: this delays a reply.
        options: { system, maxTokens, thinking: "off" },
        signal,
        onText: () => undefined,
        onReasoning: () => undefined,
        onAnswered: call.onAnswered,
        // Half a summary is none: the next model writes all of it.
        onInterrupted: async () => messages,
      });
      if (reply.stopReason === "refusal") {
        throw new ProviderError("PROVIDER_REJECTED_REQUEST", `The model "${reply.model}" refused to summarize.`);
      }
      const text = sanitize(reply.text).trim();
      if (text === "") throw new ProviderError("PROVIDER_EMPTY_ANSWER", `The model "${reply.model}" said nothing.`);
      return { text, truncated: reply.stopReason === "length" };
    },
  };
  return { model: writer, window: windowOf(first.provider).contextTokens };
}

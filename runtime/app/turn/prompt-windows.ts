/** The windows of the models that a turn may ask: each is shown as much of the conversation as its own holds. */

import type { Message } from "../../contracts/message.ts";
import type { ModelRef } from "../../domain/model-ref.ts";
import type { ModelWindow } from "../../domain/model-window.ts";
import type { PromptSummary } from "./prompt-summaries.ts";
import { PromptWindow, type PromptWindowDeps, type WindowedTurn } from "./prompt-window.ts";

export interface WindowsOfTurn extends Omit<WindowedTurn, "room" | "own" | "summary"> {
  readonly windowOf: (provider: string) => ModelWindow;
  /** Tokens for messages beside so many of the prompt's other parts. */
  room(window: ModelWindow, promptTokens: number): number;
  /** The language model that writes a summary for this one's window, with its own window. */
  own(ref: ModelRef): ReturnType<WindowedTurn["own"]>;
}

export class PromptWindows {
  readonly #deps: PromptWindowDeps;
  readonly #given: WindowsOfTurn;
  /** By model: one that refuses what another of the same size takes is the only one that is shown less. */
  readonly #windows = new Map<string, PromptWindow>();
  /** The conversation's: what one model had written is there for the next. */
  readonly #summary: { current: PromptSummary | null } = { current: null };
  #shown: PromptWindow | null = null;

  constructor(deps: PromptWindowDeps, given: WindowsOfTurn) {
    this.#deps = deps;
    this.#given = given;
  }

  /** Whether the model that was asked last was not shown all, without a summary of the rest. */
  get leftOut(): boolean {
    return this.#shown?.leftOut ?? false;
  }

  fit(messages: readonly Message[], ref: ModelRef): Promise<readonly Message[]> {
    this.#shown = this.#of(ref);
    return this.#shown.fit(messages);
  }

  shorten(
    messages: readonly Message[],
    ref: ModelRef,
    refused: readonly Message[],
  ): Promise<readonly Message[] | null> {
    return this.#of(ref).shorten(messages, refused);
  }

  #of(ref: ModelRef): PromptWindow {
    const { windowOf, room, own, ...given } = this.#given;
    const size = windowOf(ref.provider);
    const key = JSON.stringify([ref.provider, ref.model ?? null]);
    const window =
      this.#windows.get(key) ??
      new PromptWindow(this.#deps, {
        ...given,
        room: (tokens) => room(size, tokens),
        own: () => own(ref),
        summary: this.#summary,
      });
    this.#windows.set(key, window);
    return window;
  }
}

import type { TextModel } from "../../../contracts/text-model.ts";
import { ChatCompletionsTextModel, type TextModelDeps } from "./model.ts";

export type { TextModelDeps } from "./model.ts";

/** Texts of a chat model. Makes no connection until it is used. */
export function createChatCompletionsTextModel(deps: TextModelDeps): TextModel {
  return new ChatCompletionsTextModel(deps);
}

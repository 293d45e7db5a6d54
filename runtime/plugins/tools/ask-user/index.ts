/** ask_user: a question to the turn's user, whose answer is the result. The turn waits without a process, over restarts. */

import type { Tool } from "../../../contracts/tool.ts";
import { optionalInteger, requireContext, stringArgument } from "../shared/arguments.ts";

const MAX_QUESTION = 4_000;
const MAX_CHOICES = 20;
/** Discord takes no longer one as a button. */
const MAX_CHOICE = 80;
const MINUTE_MS = 60_000;
const DEFAULT_MINUTES = 1_440;
const MAX_MINUTES = 43_200;

export function createAskUserTool(): Tool {
  return {
    name: "ask_user",
    description:
      "Ask the user a question and wait for the answer. Use it where only the user can decide or knows; do not ask what you can find out. " +
      'The result is JSON: `{"answered":true,"answer":"..."}`, or `{"answered":false}` when the time is over. The user may answer with other ' +
      "words than the choices.",
    parameters: {
      type: "object",
      properties: {
        question: {
          type: "string",
          minLength: 1,
          maxLength: MAX_QUESTION,
          description: "With all that is needed to answer it.",
        },
        choices: {
          type: "array",
          maxItems: MAX_CHOICES,
          uniqueItems: true,
          items: { type: "string", minLength: 1, maxLength: MAX_CHOICE },
          description: "Answers to choose from; shown as buttons where the channel has them.",
        },
        deadline_minutes: {
          type: "integer",
          minimum: 1,
          maximum: MAX_MINUTES,
          description: `How long to wait for the answer; default ${DEFAULT_MINUTES}, a day.`,
        },
      },
      required: ["question"],
      additionalProperties: false,
    },
    async execute(args, _signal, context) {
      const minutes = optionalInteger(args, "deadline_minutes", 1, MAX_MINUTES) ?? DEFAULT_MINUTES;
      const answer = await requireContext(context).ask({
        text: stringArgument(args, "question"),
        choices: choicesOf(args["choices"]),
        deadlineMs: minutes * MINUTE_MS,
      });
      const result = answer.kind === "answered" ? { answered: true, answer: answer.text } : { answered: false };
      return { content: JSON.stringify(result) };
    },
  };
}

function choicesOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.filter((choice) => typeof choice === "string") : [];
}

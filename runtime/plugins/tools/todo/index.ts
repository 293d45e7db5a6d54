/** todo: the agent's list of a conversation. Each call replaces the whole list, so that there is nothing to go out of step with. */

import type { TodoLists } from "../../../app/todo-lists.ts";
import type { TodoItem } from "../../../contracts/records.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { isRecord } from "../../../contracts/values.ts";
import { MAX_TODO_ITEMS, MAX_TODO_TEXT, TODO_STATES, todoCounts } from "../../../domain/todo-list.ts";
import { requireContext } from "../shared/arguments.ts";

export function createTodoTool(deps: { readonly todoLists: TodoLists }): Tool {
  return {
    name: "todo",
    description:
      "Keep the list of what is to be done in this conversation. Each call replaces the whole list: send every item, also those that did " +
      "not change; an empty list clears it. You see it again with the next message. Use it for work of several steps.",
    parameters: {
      type: "object",
      properties: {
        items: {
          type: "array",
          maxItems: MAX_TODO_ITEMS,
          items: {
            type: "object",
            properties: {
              text: { type: "string", minLength: 1, maxLength: MAX_TODO_TEXT },
              state: { type: "string", enum: TODO_STATES },
            },
            required: ["text", "state"],
            additionalProperties: false,
          },
        },
      },
      required: ["items"],
      additionalProperties: false,
    },
    async execute(args, signal, context) {
      const { sessionKey } = requireContext(context);
      const items = itemsOf(args["items"]);
      signal?.throwIfAborted();
      await deps.todoLists.replace(sessionKey, items);
      return { content: items.length === 0 ? "The list is empty." : `Stored: ${todoCounts(items)}.` };
    },
  };
}

/** As the schema lets them through. */
function itemsOf(given: unknown): readonly TodoItem[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap((item) => {
    const state = isRecord(item) ? TODO_STATES.find((name) => name === item["state"]) : undefined;
    return isRecord(item) && state !== undefined ? [{ text: String(item["text"]), state }] : [];
  });
}

/** delegate_task: another agent does a task in a turn of its own, and its reply is the result of the call. */

import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { taskReply } from "../../../domain/task-reply.ts";
import { optionalString, requireContext, stringArgument } from "../shared/arguments.ts";

export interface DelegationSettings {
  /** Milliseconds until the wait for a reply ends. */
  readonly timeoutMs: number;
  /** Levels below the turn that a user began. */
  readonly maxDepth: number;
  /** Agents of the configuration, with what they are for. */
  readonly agents: readonly { readonly name: string; readonly description: string | null }[];
}

/** The port takes 100,000 together. */
const MAX_TASK = 50_000;
const MAX_CONTEXT = 40_000;

export function createDelegateTaskTool({ timeoutMs, maxDepth, agents }: DelegationSettings, newId: NewId): Tool {
  const names = agents.map(({ name, description }) => (description === null ? name : `${name} (${description})`));
  return {
    name: "delegate_task",
    description:
      "Hand a task to another agent and wait for its reply, which is the result. The other agent sees nothing of this conversation: " +
      `say all that it needs. Agents here: ${names.join(", ")}. Members of the mesh may have more; an unknown name is answered with the list.`,
    parameters: {
      type: "object",
      properties: {
        agent: { type: "string", minLength: 1, maxLength: 200, description: "Name of the agent." },
        task: {
          type: "string",
          minLength: 1,
          maxLength: MAX_TASK,
          description: "What it is to do, and what its reply should hold.",
        },
        context: { type: "string", maxLength: MAX_CONTEXT, description: "What it needs to know for that." },
      },
      required: ["agent", "task"],
      additionalProperties: false,
    },
    async execute(args, _signal, context) {
      const task = stringArgument(args, "task");
      const background = optionalString(args, "context")?.trim();
      const message = background ? `${task}\n\nContext:\n${background}` : task;
      const agent = stringArgument(args, "agent");
      const { text } = await requireContext(context).delegate({ agent, message, deadlineMs: timeoutMs, maxDepth });
      return { content: taskReply(text, newId()) };
    },
  };
}

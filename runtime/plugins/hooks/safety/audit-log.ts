/** Tool calls in the audit log: every call, what became of it, and every refusal by a guard. */

import { CairnError } from "../../../contracts/errors.ts";
import type { AnyHook, Hook, SessionInfo } from "../../../contracts/hooks.ts";
import type { ToolCall } from "../../../contracts/message.ts";
import { AnswerPending, type ToolContext } from "../../../contracts/tool.ts";
import type { AuditFile } from "./audit-file.ts";
import { auditable } from "./auditable.ts";

/** Details besides the call itself; `result` is shortened. */
export type AuditDetails = Readonly<Record<string, unknown>> & { readonly result?: string };

/** A call before it runs, or after. */
export type AuditedCall = ToolContext & { readonly call: ToolCall };

export interface AuditLog {
  /** Never rejects: a log that cannot be written stops nothing. */
  record(
    event: "call" | "result" | "refused" | "auto_action",
    context: AuditedCall,
    more?: AuditDetails,
  ): Promise<void>;
  /** What the service did by itself, at the end of a turn or session; the same holds. */
  action(context: SessionInfo & { readonly turnId?: string }, more: AuditDetails): Promise<void>;
}

export interface AuditDeps {
  readonly file: AuditFile;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

const RESULT_CHARS = 500;

export function createAuditLog(deps: AuditDeps): AuditLog {
  async function append(event: string, context: Parameters<AuditLog["action"]>[0], more: AuditDetails): Promise<void> {
    const { agent, channel, user, owner, sessionKey, conversationId, turnId } = context;
    const who = { agent, channel, user, owner, session_key: sessionKey, conversation_id: conversationId };
    // Only the beginning of a result: what a call did is in its arguments, and results can be large.
    const { result, ...rest } = { event, ...who, turn_id: turnId, ...more };
    const kept = [auditable(rest, deps.redact), { result: auditable(result, deps.redact, RESULT_CHARS) }];
    await deps.file.append(Object.assign({}, ...kept));
  }

  return {
    record(event, context, more = {}) {
      const { toolCallId, call } = context;
      return append(event, context, { tool_call_id: toolCallId, tool: call.name, arguments: call.arguments, ...more });
    },
    action: (context, more) => append("auto_action", context, more),
  };
}

/** Priority 90: what is about to run, and how it ended. Refusals are recorded by `recordingRefusals`. */
export function createAuditHooks(log: AuditLog): AnyHook[] {
  return [
    {
      name: "audit",
      event: "tool:before",
      priority: 90,
      policy: "open",
      run: (context) => log.record("call", context),
    },
    {
      name: "audit",
      event: "tool:after",
      priority: 90,
      run(context) {
        const { result, durationMs } = context;
        return log.record("result", context, {
          ok: result.isError !== true,
          duration_ms: Math.round(durationMs),
          result_chars: result.content.length,
          result: result.content,
        });
      },
    },
  ];
}

/** The hook, with a line in the audit log for every call that it refuses: later hooks do not see such a call. */
export function recordingRefusals(hook: Hook<"tool:before">, log: AuditLog): Hook<"tool:before"> {
  return {
    ...hook,
    async run(context, signal) {
      try {
        return await hook.run(context, signal);
      } catch (error) {
        // Nothing has been decided yet.
        if (error instanceof AnswerPending) throw error;
        const reason = error instanceof CairnError ? { code: error.code, reason: error.message } : {};
        await log.record("refused", context, { hook: hook.name, ...reason });
        throw error;
      }
    },
  };
}

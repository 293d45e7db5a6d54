/** The audit log: every tool call, what became of it, and every refusal, one JSON line each in a file a day. */

import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CairnError } from "../../../contracts/errors.ts";
import type { AnyHook, Hook } from "../../../contracts/hooks.ts";
import type { Clock, Logger } from "../../../contracts/ports.ts";
import type { ToolCallContext } from "./approval.ts";
import { auditable } from "./auditable.ts";

/** What is known beside the call itself; `result` is shortened. */
export type AuditDetails = Readonly<Record<string, unknown>> & { readonly result?: string };

export interface AuditLog {
  /** Never rejects: a log that cannot be written is reported to the service's own log and stops nothing. */
  record(event: "call" | "result" | "refused", context: ToolCallContext, more?: AuditDetails): Promise<void>;
}

export interface AuditDeps {
  /** Directory of the day files; made with mode 0700, its files with 0600. */
  readonly directory: string;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RESULT_CHARS = 500;

export function createAuditLog(deps: AuditDeps): AuditLog {
  return {
    async record(event, context, more = {}) {
      const at = deps.clock.now().toISOString();
      const { agent, channel, user, owner, sessionKey, conversationId, turnId, toolCallId, call } = context;
      const entry = {
        at,
        event,
        agent,
        channel,
        user,
        owner,
        session_key: sessionKey,
        conversation_id: conversationId,
        turn_id: turnId,
        tool_call_id: toolCallId,
        tool: call.name,
        arguments: call.arguments,
        result: undefined,
        ...more,
      };
      try {
        await mkdir(deps.directory, { recursive: true, mode: 0o700 });
        // Only the beginning of a result: what a call did is in its arguments, and results can be large.
        const { result, ...rest } = entry;
        const kept = [auditable(rest, deps.redact), { result: auditable(result, deps.redact, RESULT_CHARS) }];
        const line = `${JSON.stringify(Object.assign({}, ...kept))}\n`;
        await appendFile(join(deps.directory, `${at.slice(0, 10)}.jsonl`), line, { mode: 0o600 });
      } catch (error) {
        deps.logger.error({ err: error, tool: call.name, turnId }, "the audit log could not be written");
      }
    },
  };
}

/** Priority 90: what is about to run, and how it ended. Refusals are recorded by `recordingRefusals`. */
export function createAuditHooks(log: AuditLog): AnyHook[] {
  return [
    {
      name: "audit",
      event: "tool:before",
      priority: 90,
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
        const known = error instanceof CairnError ? { code: error.code, reason: error.message } : {};
        await log.record("refused", context, { hook: hook.name, ...known });
        throw error;
      }
    },
  };
}

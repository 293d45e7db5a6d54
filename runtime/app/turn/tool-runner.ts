/** One tool call: arguments checked, hooks run, executed under the turn's signal, any failure turned into a result for the model. */

import { Ajv, type ValidateFunction } from "ajv";
import { CairnError, ToolError, toCairnError } from "../../contracts/errors.ts";
import type { HookContexts } from "../../contracts/hooks.ts";
import type { ToolCall } from "../../contracts/message.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { AnswerPending, type Tool, type ToolContext, type ToolResult } from "../../contracts/tool.ts";
import { callKey } from "../../domain/approval.ts";
import type { HookPipeline } from "../hooks.ts";
import { argumentProblems } from "./argument-problems.ts";

const MOST_NAMES = 100;

export interface ToolRunner {
  /**
   * Checks arguments and asks the `tool:before` hooks; nothing has happened yet when it resolves. `changedBy`: asked once, when the
   * call has run, for the files that hooks are shown.
   */
  prepare(
    call: ToolCall,
    context: ToolContext & Approving,
    tools: ReadonlyMap<string, Tool>,
    signal: AbortSignal,
    changedBy: (call: ToolCall, result: ToolResult) => readonly string[],
  ): Promise<PreparedCall>;
  /** Of a call that no hook is to see. */
  refuse(call: ToolCall, context: ToolContext, error: ToolError): Promise<PreparedCall>;
}

/** What its hooks have beside what the tool has. */
type Approving = Pick<HookContexts["tool:before"], "approve">;

export type PreparedCall =
  /** The call will not run: its result is known already. */
  | { readonly refused: ToolResult }
  | { readonly refused?: never; readonly call: ToolCall; readonly parallel: boolean; run(): Promise<ToolResult> };

export interface ToolRunnerDeps {
  readonly hooks: HookPipeline;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Records a call that is refused before any hook sees it. Never rejects. */
  recordRefusal?(context: ToolContext & { readonly call: ToolCall }, error: ToolError): Promise<void>;
}

export function createToolRunner(deps: ToolRunnerDeps): ToolRunner {
  const { hooks, clock, logger } = deps;
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    validateFormats: false,
    coerceTypes: false,
    useDefaults: true,
  });
  const validators = new WeakMap<Tool, ValidateFunction>();

  function validatorOf(tool: Tool): ValidateFunction {
    const cached = validators.get(tool);
    if (cached) return cached;
    const validator = ajv.compile(tool.parameters);
    validators.set(tool, validator);
    return validator;
  }

  async function refuse(call: ToolCall, context: ToolContext, error: ToolError): Promise<PreparedCall> {
    await deps.recordRefusal?.({ ...context, call }, error);
    return { refused: describe(error, logger) };
  }

  return {
    refuse,
    async prepare(call, { approve: askOwner, ...context }, tools, signal, changedBy) {
      // Before its name: of a call that could not be read there may be none.
      if ("__invalid_json" in call.arguments) {
        return refuse(call, context, new ToolError("TOOL_INVALID_ARGUMENTS", "The arguments were not valid JSON."));
      }
      const tool = tools.get(call.name);
      if (!tool) {
        const sentence = `There is no tool "${call.name}". Known tools: ${namesOf([...tools.keys()])}.`;
        return refuse(call, context, new ToolError("TOOL_UNKNOWN", sentence));
      }
      // A copy: the validator fills defaults in.
      const args: Record<string, unknown> = structuredClone(call.arguments);
      let validate: ValidateFunction;
      try {
        validate = validatorOf(tool);
      } catch (error) {
        // A schema from outside that has passed all checks, and is none.
        logger.error({ err: error, tool: tool.name }, "the schema of a tool cannot be used");
        return refuse(call, context, new ToolError("TOOL_FAILED", `The schema of "${call.name}" cannot be used.`));
      }
      if (!validate(args)) {
        return refuse(call, context, new ToolError("TOOL_INVALID_ARGUMENTS", argumentProblems(validate.errors ?? [])));
      }
      let prepared: ToolCall;
      let begun = false;
      // A question executes the call again: after its hooks none may be asked by them, or the call would happen twice.
      const ask: ToolContext["ask"] = async (question) => {
        if (begun) throw new ToolError("TOOL_REFUSED", "A hook asks before the call runs, and within its deadline.");
        return context.ask(question);
      };
      /** What the owner has approved: what runs is that, and nothing that a later hook makes of it. */
      let approved: string | null = null;
      const approve: Approving["approve"] = async (asked, reason) => {
        if (begun) throw new ToolError("TOOL_REFUSED", "A hook asks before the call runs, and within its deadline.");
        const outcome = await askOwner(asked, reason);
        if (outcome === "approved") approved = callKey(asked);
        return outcome;
      };
      const handNothing = async () => {
        throw new ToolError("TOOL_REFUSED", "A hook hands no task to another turn.");
      };
      const noteNothing = async () => {
        throw new ToolError("TOOL_REFUSED", "A hook runs at every execution of the call.");
      };
      const ofHooks = { ...context, ask, delegate: handNothing, spawn: handNothing, once: noteNothing };
      try {
        const { pathArguments = [] } = tool;
        const before = { ...ofHooks, approve, call: { ...call, arguments: args }, pathArguments };
        prepared = (await hooks.run("tool:before", before, signal)).call;
      } catch (error) {
        return { refused: describe(error, logger) };
      } finally {
        begun = true;
      }
      if (approved !== null && approved !== callKey(prepared)) {
        const sentence = "A hook has changed the call after the owner had approved it.";
        return refuse(prepared, context, new ToolError("TOOL_REFUSED", sentence));
      }
      return {
        call: prepared,
        parallel: tool.parallel === true,
        async run() {
          const started = clock.monotonic();
          let result: ToolResult;
          try {
            result = await tool.execute(prepared.arguments, signal, context);
          } catch (error) {
            // The call has not ended, so that there is no result.
            if (error instanceof AnswerPending) throw error;
            result = describe(error, logger);
          }
          const after = await hooks.run(
            "tool:after",
            {
              ...ofHooks,
              call: prepared,
              result,
              durationMs: clock.monotonic() - started,
              changedFiles: changedBy(prepared, result),
            },
            signal,
          );
          return after.result;
        },
      };
    },
  };
}

/** A node with MCP servers may have a thousand. */
function namesOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function failure(content: string): ToolResult {
  return { content, isError: true };
}

/** What the model reads of an error. The message of an unexpected one may hold anything, so it goes to the log alone. */
function describe(error: unknown, logger: Logger): ToolResult {
  const cairnError = toCairnError(error);
  if (!(error instanceof CairnError || error instanceof AnswerPending))
    logger.error({ err: error }, "a tool failed unexpectedly");
  return failure(
    `${cairnError.code}: ${cairnError.message}${cairnError.details.hint ? ` ${cairnError.details.hint}` : ""}`,
  );
}

/** What the built-in hooks cost a tool call, all of them switched on, and how long taking secrets out of ten megabytes takes. */

import { createHookPipeline } from "../runtime/app/hooks.ts";
import { createLearningRedactor } from "../runtime/config/redact.ts";
import type { HookContexts } from "../runtime/contracts/hooks.ts";
import { autoActions } from "../runtime/plugins/hooks/auto-actions/manifest.ts";
import { createAuditFile, createAuditLog } from "../runtime/plugins/hooks/safety/index.ts";
import { safety } from "../runtime/plugins/hooks/safety/manifest.ts";
import { sessionSummary } from "../runtime/plugins/hooks/session-summary/manifest.ts";
import { createWorkspaceGate } from "../runtime/plugins/tools/index.ts";
import { quietLogger } from "../test/support/quiet-logger.ts";
import type { Bench } from "./support/bench.ts";

const TIMES = 1_000;
const WARM_UP = 200;
const MEGABYTE = 1_000_000;
const SECRETS = Array.from({ length: 20 }, (_, n) => `secret-value-${n}-of-the-bench`);

const CALLS = {
  shell: { pathArguments: ["cwd"], arguments: { command: "cd src && npm test -- --reporter=dot 2>&1 | tail -n 40" } },
  file_read: { pathArguments: ["path"], arguments: { path: "notes/today.md" } },
} as const;

export const bench: Bench = {
  about: "hooks before and after a tool call with every built-in hook on; redaction of 1 to 10 MB",
  async run(context) {
    const workspace = await context.folder();
    const clock = { now: () => new Date(), monotonic: () => performance.now() };
    const { redact } = createLearningRedactor(SECRETS);
    const gate = createWorkspaceGate({ protectedPaths: [] });
    const auditFile = createAuditFile({ directory: await context.folder(), clock, logger: quietLogger });
    const rules = [{ name: "own", pattern: "drop table", action: "refuse" as const }];
    const hooks = createHookPipeline(
      [
        ...(await safety.create({
          settings: { shell_danger: true, workspace_fence: true, audit: true, rules },
          gate,
          auditFile,
          redact,
          logger: quietLogger,
        })),
        ...(await autoActions.create({
          settings: { format: "true", lint: "true", test: "true", git_check: true, commit: "turn" },
          runCommand: () => Promise.reject(new Error("No file was changed.")),
          gate,
          audit: createAuditLog({ file: auditFile, redact }),
          background: { run: () => undefined },
          stopping: context.signal,
          clock,
          logger: quietLogger,
        })),
        ...(await sessionSummary.create({ summarize: async () => undefined })),
      ],
      quietLogger,
    );
    const port = () => Promise.reject(new Error("Nothing is asked."));
    const ofCall = {
      agent: "main",
      sessionKey: "main:agent:s1:",
      conversationId: "c",
      turnId: "t",
      toolCallId: "call",
      tools: [],
      workspace,
      channel: "agent",
      user: "",
      owner: true,
      ask: port,
      delegate: port,
      spawn: port,
      once: (work: () => Promise<string>) => work(),
      progress: () => undefined,
      deliver: port,
      sendFile: port,
    } as const;
    const content = "a line of output of a command that was run\n".repeat(200);
    for (const [name, { pathArguments, arguments: args }] of Object.entries(CALLS)) {
      const call = { id: "call", name, arguments: args };
      const after: HookContexts["tool:after"] = {
        ...ofCall,
        call,
        result: { content },
        durationMs: 1,
        changedFiles: [],
      };
      await context.time(
        { name: `hooks of one call of ${name}`, times: TIMES, warmUp: WARM_UP, goal: { of: "p50", atMost: 1 } },
        async () => {
          await hooks.run("tool:before", { ...ofCall, approve: port, call, pathArguments }, context.signal);
          await hooks.run("tool:after", after, context.signal);
        },
      );
    }
    for (const megabytes of [1, 2, 5, 10]) {
      const unit = `plain words of a log, then ${SECRETS[0]}, and an end of the line\n`;
      const text = unit.repeat(Math.ceil((megabytes * MEGABYTE) / unit.length));
      await context.time(
        {
          name: `redaction of ${megabytes} MB`,
          times: 5,
          warmUp: 1,
          ...(megabytes === 10 ? { goal: { of: "p50", atMost: 1_000 } as const } : {}),
        },
        async () => {
          if (redact(text).includes(SECRETS[0] ?? "")) throw new Error("A secret is left.");
        },
      );
    }
  },
};

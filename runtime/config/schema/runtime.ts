/** `runtime`: how the node listens, where agents work, and what bounds a turn. */
import { z } from "zod";
import { canonicalListen, parseListen } from "../listen.ts";
import { choice, duration, flag, integer, list, path, section, text, timezone } from "./scalars.ts";

const LISTEN = "host:port, such as 127.0.0.1:7433 or [::1]:7433, or a port of 127.0.0.1 alone";

const tls = z
  .union(
    [
      choice(["auto", "off"]),
      z.literal(false),
      section({
        cert: path().describe("Certificate chain, PEM: a path, or by reference the text itself."),
        key: path().describe("Private key, PEM: a path, or by reference the text itself."),
      }),
    ],
    { error: "auto, off, or a mapping with cert and key" },
  )
  .transform((value) => (value === false ? ("off" as const) : value));

const safetyRule = section({
  name: text().describe("Shown when the rule refuses a call."),
  tools: list(text()).optional().describe("Tools that the rule looks at; all when absent."),
  argument: text()
    .optional()
    .describe("Argument that the pattern is matched against; all of them, as JSON, when absent."),
  pattern: text()
    .refine(isPattern, { error: "a JavaScript regular expression" })
    .describe("JavaScript regular expression."),
  action: choice(["refuse", "ask", "warn"])
    .default("refuse")
    .describe("Refuse the call, ask the owner, or let it run and log a warning."),
  message: text().optional().describe("The reason that the agent gets when its call is refused."),
});

const safety = section({
  shell_danger: flag().prefault(true).describe("Refuse dangerous shell commands."),
  workspace_fence: flag().prefault(true).describe("Keep file tools inside the agent's workspace."),
  audit: flag()
    .prefault(true)
    .describe("Write tool calls that reach the guards, and refusals by them, to the audit log."),
  audit_retention: duration({ max: Number.POSITIVE_INFINITY })
    .prefault("90d")
    .describe("How long audit logs are kept."),
  audit_compress_after: duration({ max: Number.POSITIVE_INFINITY })
    .prefault("7d")
    .describe("Age at which audit logs are compressed."),
  rules: list(safetyRule).default([]).describe("Own rules, checked after the built-in ones."),
});

const autoActions = section({
  format: action("Formats after file tools have changed files; `{files}` in it stands for these."),
  lint: action("Lints after file tools have changed files; `{files}` in it stands for these."),
  test: action("Runs tests after file tools have changed files."),
  git_check: flag().prefault(false).describe("Reports uncommitted changes after file tools have changed files."),
  commit: z
    .union([z.literal(false), choice(["off", "session", "turn"])], { error: "session, turn, or off" })
    .transform((value) => (value === false ? ("off" as const) : value))
    .default("off")
    .describe("Commits the workspace, where it is a git repository, at the end of each session or turn of the owner."),
});

export const runtimeSection = section({
  listen: text(LISTEN)
    .refine((value) => parseListen(value) !== null, { error: LISTEN })
    .overwrite(canonicalListen)
    .default("127.0.0.1:7433")
    .describe("Address of the HTTP server; SERVICE_LISTEN overrides it."),
  workspace: path().default("workspace").describe("The agents' workspace: a directory of markdown files."),
  default_agent: text()
    .optional()
    .describe("Agent that commands talk to where none is named; the only agent, or `main`, when absent."),
  max_tool_iterations: integer({ min: 1 }).prefault(75).describe("Maximum rounds of tool calls in a turn."),
  timezone: timezone().default("UTC").describe("For search windows, daily notes and times without a zone."),
  turn_timeout: duration({ min: 1_000 }).prefault("900s").describe("A turn that takes longer is aborted."),
  lease: duration({ min: 1_000 })
    .prefault("30s")
    .describe("A turn whose node says nothing for this long is taken over by another one."),
  drain_deadline: duration().prefault("60s").describe("How long active turns may finish when the node stops."),
  tls: tls
    .optional()
    .describe(
      "`auto`: the node makes a certificate itself, self-signed, which our own clients pin. Or cert and key; or `off`, plain HTTP. Default: auto in a mesh, else off.",
    ),
  safety: safety.prefault({}).describe("Checks before tool calls."),
  auto_actions: autoActions
    .prefault({})
    .describe(
      "Commands that the service runs in the sandbox, after tool calls of the owner's turns that changed files; off unless named.",
    ),
});

function action(description: string) {
  return z
    .union([z.literal(false), z.literal("off"), text()], { error: "a command line, or off" })
    .transform((value): string | false => (value === "off" ? false : value))
    .default(false)
    .describe(`${description} A command line, or off.`);
}

function isPattern(value: string): boolean {
  try {
    new RegExp(value);
    return true;
  } catch {
    return false;
  }
}

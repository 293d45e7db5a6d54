/** The commands of a chat, read from one line such as `/think high`. */

import type { ThinkingLevel } from "../contracts/provider.ts";

export const THINKING_LEVELS = ["off", "low", "medium", "high"] as const satisfies readonly ThinkingLevel[];

export const COMMAND_USAGE = {
  stop: "/stop - abort the current turn",
  interrupt: "/interrupt TEXT - abort the current turn and run TEXT next",
  steer: "/steer TEXT - tell the agent something while it works",
  answer: "/answer TEXT - answer what the agent has asked",
  approve:
    "/approve [ID] [always] - let the agent do what it has asked to be allowed; always: exactly this, from now on",
  deny: "/deny [ID] - refuse it",
  new: "/new - start a fresh conversation; the transcript is kept",
  status: "/status - what this session is doing",
  model: "/model [NAME | PROVIDER:NAME | default] - show or set the model",
  think: "/think [off|low|medium|high] - show or set the thinking level",
  reasoning: "/reasoning [on|off] - show or hide the model's reasoning",
  pair: "/pair CODE - admit the person who was given this code",
} as const;

/** An id, or its last digits, and whether it holds from now on. */
const APPROVAL = /^(?<id>[0-9a-f-]{8,36})?(?:(?:^|\s+)(?<always>always))?$/i;

export type CommandName = keyof typeof COMMAND_USAGE;

/** They are about the turn that runs: they need not wait for messages before them. */
const URGENT: ReadonlySet<string> = new Set([
  "stop",
  "interrupt",
  "steer",
  "answer",
  "approve",
  "deny",
  "status",
] satisfies CommandName[]);

export type CommandLine =
  | { readonly kind: "stop" | "new" | "status" }
  | { readonly kind: "interrupt" | "steer" | "answer" | "pair"; readonly text: string }
  /** `id`: null for the one that the session waits for. */
  | { readonly kind: "approve"; readonly id: string | null; readonly always: boolean }
  | { readonly kind: "deny"; readonly id: string | null }
  | { readonly kind: "model"; readonly model: string | null }
  | { readonly kind: "think"; readonly level: ThinkingLevel | null }
  | { readonly kind: "reasoning"; readonly on: boolean | null }
  /** The name is known, its argument is missing or not one of those allowed. */
  | { readonly kind: "misused"; readonly name: CommandName; readonly usage: string }
  | { readonly kind: "unknown"; readonly name: string };

export function isUrgent(line: string): boolean {
  return URGENT.has(parseCommand(line).kind);
}

export function parseCommand(line: string): CommandLine {
  const match = /^\/?(\S*)\s*([\s\S]*)$/.exec(line.trim());
  const name = (match?.[1] ?? "").toLowerCase();
  const argument = (match?.[2] ?? "").trim();
  const misused = (command: CommandName): CommandLine => ({
    kind: "misused",
    name: command,
    usage: COMMAND_USAGE[command],
  });

  switch (name) {
    case "stop":
    case "new":
    case "status":
      return argument === "" ? { kind: name } : misused(name);
    case "interrupt":
    case "steer":
    case "answer":
    case "pair":
      return argument === "" ? misused(name) : { kind: name, text: argument };
    case "approve":
    case "deny": {
      const { id = null, always } = APPROVAL.exec(argument)?.groups ?? { always: "?" };
      if (name === "deny") return always === undefined ? { kind: name, id } : misused(name);
      return always === "?" ? misused(name) : { kind: name, id, always: always !== undefined };
    }
    case "model":
      return { kind: "model", model: argument === "" ? null : argument };
    case "think": {
      if (argument === "") return { kind: "think", level: null };
      const level = THINKING_LEVELS.find((candidate) => candidate === argument.toLowerCase());
      return level ? { kind: "think", level } : misused("think");
    }
    case "reasoning": {
      if (argument === "") return { kind: "reasoning", on: null };
      if (argument === "on" || argument === "off") return { kind: "reasoning", on: argument === "on" };
      return misused("reasoning");
    }
    default:
      return { kind: "unknown", name };
  }
}

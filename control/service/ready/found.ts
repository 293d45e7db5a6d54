/** What the ready screen tells of a node that has just started: its model, its search by meaning and its sandbox. */

import process from "node:process";
import type { Health } from "../../../runtime/client/index.ts";
import type { Config } from "../../../runtime/config/index.ts";
import { agentsWithShell } from "../../doctor/checks/secrets/reach.ts";
import type { Prepared } from "../launch.ts";
import { readNodeStatus } from "../node-status.ts";
import { type MissingSandbox, missingSandbox, sandboxFix } from "../sandbox.ts";

/** Milliseconds for the embedding server: the screen waits for it. */
const ANSWER_MS = 2_000;

export interface Found {
  readonly url: string;
  readonly agent: string;
  /** `available` is null where the node does not tell; `none` is the offline provider. */
  readonly model: {
    readonly provider: string;
    readonly name: string;
    readonly none: boolean;
    readonly available: boolean | null;
  };
  /** `answers` is null where it needs no server. */
  readonly embedding: {
    readonly provider: string;
    readonly model: string | undefined;
    readonly answers: boolean | null;
  } | null;
  /** In words of one: unused (no agent runs commands), off (by the owner's choice), works, or what is missing. */
  readonly sandbox: "unused" | "off" | "works" | MissingSandbox;
}

/** Rejects with the signal's reason. A node that does not answer has a model that is not known to be available. */
export async function foundBy(
  { deployment, config: { config } }: Pick<Prepared, "deployment" | "config">,
  url: string,
  signal: AbortSignal,
): Promise<Found> {
  const [status, missing, embedderAnswers] = await Promise.all([
    readNodeStatus(deployment, signal).catch((): null => {
      signal.throwIfAborted();
      return null;
    }),
    missingSandbox(config, signal).catch((error: unknown): MissingSandbox => {
      signal.throwIfAborted();
      return { problem: String(error), fix: sandboxFix(process.platform) };
    }),
    answers(config.memory.embedding.base_url, signal),
  ]);
  return describeFound(config, { health: status?.health ?? null, embedderAnswers }, url, missing);
}

/** Any answer is one: what it says to this path does not matter. Null without an address. Rejects with the signal's reason. */
async function answers(url: string | undefined, signal: AbortSignal): Promise<boolean | null> {
  if (url === undefined) return null;
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await fetch(url, { redirect: "manual", signal: deadline });
    await response.body?.cancel();
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** Of a configuration, what was asked (the health is null where the node does not answer), the node's URL and its sandbox. */
export function describeFound(
  config: Config,
  { health, embedderAnswers }: { readonly health: Health | null; readonly embedderAnswers: boolean | null },
  url: string,
  missing: MissingSandbox | null,
): Found {
  const agent = config.runtime.default_agent;
  const provider = health?.agents[agent]?.provider ?? config.agents[agent]?.provider ?? "unknown";
  const { embedding } = config.memory;
  return {
    url,
    agent,
    model: {
      provider,
      name: health?.agents[agent]?.model ?? "",
      none: config.providers[provider]?.kind === "offline",
      available: health?.providers[provider]?.available ?? null,
    },
    embedding:
      embedding.provider === "off"
        ? null
        : { provider: embedding.provider, model: embedding.model, answers: embedderAnswers },
    sandbox: sandboxOf(config, missing),
  };
}

function sandboxOf(config: Config, missing: MissingSandbox | null): Found["sandbox"] {
  if (agentsWithShell(config).length === 0) return "unused";
  if (config.tools.shell.sandbox === "none") return "off";
  return missing ?? "works";
}

/** What goes wrong in one simulated rollout, and when: all of it follows from a seed. */

import type { OnFailure } from "../../../control/rollout/fleet-steps.ts";
import { Random } from "./random.ts";

/** `at`, `ms`: milliseconds. `node`: its place in the order. */
export type Fault =
  | { readonly kind: "image-missing" | "never-ready" | "crash-loop" | "late-crash"; readonly node: number }
  | { readonly kind: "rollback-image-missing" | "poller-ignores-abort"; readonly node: number }
  /** A command line is killed around this write of its journal; both numbers count from 0. */
  | { readonly kind: "killed"; readonly attempt: number; readonly write: number; readonly written: boolean }
  | { readonly kind: "interrupted"; readonly at: number }
  | { readonly kind: "second-command"; readonly at: number; readonly to: string }
  | { readonly kind: "slow-pull"; readonly node: number; readonly ms: number }
  /** `command`, here and below counts drains and swaps of the first command line. Its machine stands still right before a command, when its lease had been checked; another one goes on. */
  | { readonly kind: "frozen"; readonly command: number; readonly ms: number; readonly next: string | null }
  /** The network keeps a command for so long. Then its sender is killed, or reaches that node as little for a while, or tries again. */
  | { readonly kind: "late-command"; readonly command: number; readonly ms: number; readonly sender: Sender }
  /** From command lines, or from its database: `at` null, right after it got the new version. */
  | { readonly kind: "node-cut-off"; readonly node: number; readonly ms: number }
  | { readonly kind: "node-without-database"; readonly node: number; readonly at: number | null; readonly ms: number }
  | { readonly kind: "command-without-database"; readonly at: number; readonly ms: number }
  | { readonly kind: "dies-draining"; readonly node: number; readonly ms: number }
  | { readonly kind: "dies"; readonly node: number; readonly at: number }
  | { readonly kind: "long-turn" | "waiting-turn"; readonly at: number; readonly ms: number }
  | { readonly kind: "journal-full"; readonly at: number; readonly ms: number }
  | { readonly kind: "clock-skew"; readonly ms: number }
  /** Somebody gives a node another program. No part of random schedules: nothing is promised of a node that is changed at any time. */
  | { readonly kind: "changed-by-hand"; readonly node: number; readonly at: number; readonly image: string };

type Sender = "killed" | "cut-off" | "tries-again";

export const FAULTS = [
  ...["image-missing", "never-ready", "crash-loop", "late-crash", "rollback-image-missing", "poller-ignores-abort"],
  ...["killed", "interrupted", "second-command", "slow-pull", "frozen", "late-command", "node-cut-off"],
  ...["node-without-database", "command-without-database", "dies-draining", "dies", "long-turn", "waiting-turn"],
  ...["journal-full", "clock-skew"],
] as const satisfies readonly Fault["kind"][];

export interface Schedule {
  readonly seed: number;
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly onFailure: OnFailure;
  /** What the operator rolls out right after the end. */
  readonly next: string | null;
  readonly faults: readonly Fault[];
}

/** Milliseconds that a node's change takes about. */
const NODE_MS = 80_000;

export function scheduleOf(seed: number): Schedule {
  const random = new Random(seed);
  const nodes = random.between(2, 5);
  const maxUnavailable = random.chance(0.7) ? 1 : 2;
  const onFailure = random.chance(0.75) ? "rollback" : "pause";
  const next = random.chance(0.4) ? "v3" : null;
  const faults = Array.from({ length: random.between(0, 5) }, () => faultsOf(random, nodes)).flat();
  return { seed, nodes, maxUnavailable, onFailure, next, faults };
}

function faultsOf(random: Random, nodes: number): Fault[] {
  const node = random.between(0, nodes - 1);
  const at = random.between(0, nodes * NODE_MS);
  const kind = random.of(FAULTS);
  switch (kind) {
    case "image-missing":
    case "never-ready":
    case "crash-loop":
    case "late-crash":
    case "poller-ignores-abort":
      return [{ kind, node }];
    case "rollback-image-missing":
      // Seen only where something goes back.
      return [{ kind, node }, ...(random.chance(0.7) ? [{ kind: "never-ready", node } as const] : [])];
    case "killed":
      return [
        { kind, attempt: random.chance(0.8) ? 0 : 1, write: random.between(0, 4 * nodes), written: random.chance(0.5) },
      ];
    case "interrupted":
      return [{ kind, at }];
    case "second-command":
      return [{ kind, at, to: random.of(["v2", "v3"]) }];
    case "slow-pull":
      return [{ kind, node, ms: random.between(40_000, 150_000) }];
    case "frozen": {
      const next = random.chance(0.6) ? "v3" : null;
      return [{ kind, command: random.between(0, 2 * nodes), ms: random.between(20_000, 200_000), next }];
    }
    case "late-command":
      return [
        {
          ...{ kind, command: random.between(0, 2 * nodes), ms: random.between(12_000, 400_000) },
          sender: random.of<Sender>(["killed", "cut-off", "tries-again"]),
        },
      ];
    case "node-cut-off":
    case "node-without-database": {
      const ms = random.of([random.between(5_000, 400_000), random.between(400_000, 900_000)]);
      return [kind === "node-cut-off" ? { kind, node, ms } : { kind, node, at: random.of([at, null]), ms }];
    }
    case "command-without-database":
    case "journal-full":
      return [{ kind, at, ms: random.between(2_000, 120_000) }];
    case "dies-draining":
      return [{ kind, node, ms: random.between(0, 20_000) }];
    case "dies":
      return [{ kind, node, at }];
    case "long-turn":
    case "waiting-turn":
      return [{ kind, at, ms: random.between(70_000, 600_000) }];
    case "clock-skew":
      return [{ kind, ms: random.of([-60_000, 60_000]) }];
  }
}

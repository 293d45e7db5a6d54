/** An update of a source tree from a complete build on: the node takes it and passes its gate, or everything goes back. */

import { gate } from "../rollout/gate.ts";
import { changeNode, type NodeChange, type RolledBack, rollBack, type Step } from "../rollout/rollback.ts";
import { connect, defaultAgent } from "../service/connect.ts";
import type { Deployment } from "../service/deployment.ts";
import type { Builds } from "./builds.ts";
import { Git } from "./git.ts";
import type { StepName, UpdateJournal } from "./journal.ts";
import type { PrebuiltRequest } from "./prebuilt.ts";
import { restartNode } from "./restart.ts";
import type { UpdateResult } from "./result.ts";

export interface TreeUpdate {
  readonly deployment: Deployment;
  /** Source tree. */
  readonly root: string;
  readonly version: string | undefined;
  /** Instead of a release of the tree. */
  readonly prebuilt?: PrebuiltRequest | undefined;
  readonly restart: boolean;
  /** Milliseconds that the node gets to be ready. */
  readonly readyMs: number;
  readonly signal: AbortSignal;
  readonly report: (text: string) => void;
  /** Defers interruptions until the returned function is called; see Interruption. */
  readonly hold?: () => () => void;
  readonly now: () => Date;
  /** Called after each step is recorded as begun; tests interrupt an update here. */
  readonly onStep?: (step: StepName) => void;
}

export interface Work extends TreeUpdate {
  readonly builds: Builds;
  readonly git: Git;
  readonly journal: UpdateJournal;
}

/** From a complete build to the end, or back. Not interruptible: a node that was stopped has to be started again. */
export async function forward(interruptible: Work): Promise<UpdateResult> {
  const letGo = interruptible.hold?.();
  try {
    return await goForward(withoutAbort(interruptible));
  } finally {
    letGo?.();
  }
}

/** The way back alone, for an update that was interrupted on it. */
export async function back(interruptible: Work, reason: string): Promise<UpdateResult> {
  const letGo = interruptible.hold?.();
  try {
    const work = withoutAbort(interruptible);
    return await wentBack(work, await rollBack(nodeChange(work), reason));
  } finally {
    letGo?.();
  }
}

async function goForward(work: Work): Promise<UpdateResult> {
  const { from, to, restart } = work.journal.entry;
  const end = await changeNode(nodeChange(work));
  if (end.kind !== "passed") return wentBack(work, end);
  await finishTree(work);
  const outcome = restart ? "updated" : "pending";
  const base = { schema: 1, target: "manual", from: from.version, to: to.version, reason: null, next: null } as const;
  return { ...base, outcome, restarted: restart };
}

/** The steps of the node, the same for a first run and for a resumed one. */
function nodeChange(work: Work): NodeChange<StepName> {
  const { builds, journal, report } = work;
  const { stage, former, from, to, restart, keeper } = journal.entry;
  const running = <T>(steps: readonly T[]): readonly T[] => (restart ? steps : []);
  return {
    record: (name, run) => recordStep(work, name, run),
    forward: [
      { name: "switch", run: () => builds.switchTo(stage) },
      ...running<Step<StepName>>([
        {
          name: "restart",
          run() {
            report("Restarting the node");
            return restartNode({ ...work, program: stage, keeper });
          },
        },
        {
          name: "gate",
          run() {
            report("Testing the node");
            return passGate(work, to.version);
          },
        },
      ]),
    ],
    back: [
      {
        name: "back",
        run() {
          report(`Going back to ${from.version}`);
          return builds.switchBack(former);
        },
      },
      ...running<Step<StepName>>([
        { name: "restart-former", run: () => restartNode({ ...work, program: former, keeper }) },
        { name: "gate-former", run: () => passGate(work, from.version) },
      ]),
    ],
  };
}

async function finishTree(work: Work): Promise<void> {
  const { git, journal, builds } = work;
  const { stage, move, to, former, source } = journal.entry;
  await recordStep(work, "tree", () => git.move(move, to));
  await journal.close();
  // The tree of a program that came as an archive stays, and what was built in it with it.
  if (source === "git") await builds.forgetFormer();
  for (const path of await builds.others([stage, former])) await git.removeWorktree(path);
}

async function wentBack(work: Work, end: RolledBack): Promise<UpdateResult> {
  const { journal, git } = work;
  const { from, to, restart, stage } = journal.entry;
  const { reason } = end;
  const base = { schema: 1, target: "manual", from: from.version, to: to.version, restarted: restart } as const;
  if (end.kind === "stuck") {
    return {
      ...base,
      outcome: "operator",
      reason: `${reason} Going back failed, too: ${end.back}`,
      next: "Look at `cairn logs` and `cairn doctor`; `cairn update` tries to go back again.",
    };
  }
  await journal.close();
  await git.removeWorktree(stage);
  return {
    ...base,
    outcome: "rolled_back",
    reason,
    next: `The node runs ${from.version} as before. See \`cairn logs\`.`,
  };
}

/** The same work, with nothing that aborts it. */
export function withoutAbort(work: Work): Work {
  const { signal } = new AbortController();
  return { ...work, signal, git: new Git(work.root, signal) };
}

/** Runs a step and writes it down. */
export async function recordStep<T>(work: Work, name: StepName, run: () => Promise<T>): Promise<T> {
  return work.journal.step(name, () => {
    work.onStep?.(name);
    return run();
  });
}

async function passGate({ deployment, signal }: Work, version: string): Promise<void> {
  const client = await connect(deployment);
  await gate(client, await defaultAgent(deployment, client), version, signal);
}

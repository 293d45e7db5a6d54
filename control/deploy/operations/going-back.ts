/**
 * What a run broke gets back what it had: one way for `up`, and for `up --roll` and `update` through their journal. PostgreSQL stays
 * as it is: its data may have been written by the newer settings.
 */

import { type ErrorDetails, InfraError } from "../../../runtime/contracts/errors.ts";
import { type RolledBack, rollBack } from "../../rollout/rollback.ts";
import { resourcesOf } from "../engine/checkpoint.ts";
import { nodeOf } from "./guards.ts";
import { isUnrelated, type NodeRun, nodeChange } from "./roll/node-change.ts";
import { StartFailure } from "./start-watch.ts";

/** Runs `work`; where it fails, those of `nodes` that it broke go back. Rejects with what failed, and what became of it. */
export async function withRollback<T>(run: NodeRun, nodes: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isUnrelated(run.session, error)) throw error;
    const broken = await nodesToRestore(run, nodes, error);
    const ends = new Map<string, RolledBack>();
    const reason = error instanceof Error ? error.message : String(error);
    for (const node of broken) {
      const change = await nodeChange(run, node);
      // Of what was never reached there is nothing to say.
      if (change.back === null && !(error instanceof StartFailure)) continue;
      ends.set(node, await rollBack(change, reason));
    }
    throw ends.size === 0 ? error : withEnds(run, error, ends);
  }
}

/** Those that do not start, or that what failed has left without anything that runs. */
async function nodesToRestore({ session }: NodeRun, nodes: readonly string[], error: unknown): Promise<string[]> {
  if (error instanceof StartFailure) {
    const failed = error.answers ? (error.nodes ?? []) : [];
    return nodes.filter((name) => failed.includes(name));
  }
  const observed = await session.driver.observe(session.run.signal).catch(() => []);
  const down = observed.filter(({ state }) => state === "missing" || state === "stopped").map(({ name }) => name);
  return nodes.filter((name) => down.includes(name));
}

function withEnds(run: NodeRun, error: unknown, ends: ReadonlyMap<string, RolledBack>): InfraError {
  const said = error instanceof InfraError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const back = [...ends].filter(([, { kind }]) => kind === "rolled_back").map(([name]) => name);
  const stuck = [...ends].flatMap(([name, end]) => (end.kind === "stuck" ? [{ name, back: end.back }] : []));
  const ended = [
    ...(back.length === 0 ? [] : [`what ${back.join(", ")} had before serves again`]),
    ...stuck.map((one) =>
      one.back === null ? nothingToGoBackTo(run, one.name) : `going back failed, too: ${one.back}`,
    ),
  ];
  const correct = "Correct the configuration or the image, and run the same command again.";
  const hint = stuck.length === 0 ? correct : said?.details.hint;
  const details: ErrorDetails = { ...said?.details, cause: error, ...(hint === undefined ? {} : { hint }) };
  return new InfraError(
    said?.code ?? "INFRA_FAILED",
    `${trimmed(message)}; ${ended.map(trimmed).join("; ")}.`,
    details,
  );
}

/** Continues a sentence. */
function nothingToGoBackTo({ prepared }: NodeRun, node: string): string {
  const { plan } = prepared.project;
  const ran = resourcesOf(prepared.state).some((one) => nodeOf(one, plan) === node);
  if (!ran) return `it is the first start of ${node}, so there is nothing to go back to, and it is left as it is`;
  return `nothing else is known that ${node} could go back to, so it is left as it is`;
}

function trimmed(sentence: string): string {
  return sentence.replace(/[.\s]+$/, "");
}

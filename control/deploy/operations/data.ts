/** Data that exists on the target but not in the state: taken over after a question, never overwritten. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { Interrupted } from "../../output/failure.ts";
import type { ExistingData } from "../driver.ts";
import { type ExportedState, resourcesOf } from "../engine/checkpoint.ts";
import type { Session } from "./session.ts";
import { readUnanswered } from "./unanswered.ts";

/** Names to adopt. INFRA_DATA_EXISTS without a terminal, when the answer is no, or when something else runs on them. */
export async function dataToAdopt(
  session: Session,
  state: ExportedState | null,
  adopt: boolean,
): Promise<ReadonlySet<string>> {
  const { driver, run } = session;
  const unknown = unknownData(await driver.existingData(run.signal), state);
  // An earlier run has made them itself, and was not answered.
  const asked = new Set((await readUnanswered(session.files)).map(({ name }) => name));
  const own = unknown.filter(({ name }) => asked.has(name)).map(({ name }) => name);
  const strange = unknown.filter(({ name }) => !asked.has(name));
  const names = [...new Set(strange.map(({ name }) => name))].sort();
  if (names.length === 0) return new Set(own);
  refuseUsed(strange);
  const { prompts } = run.services;
  if (!adopt && !(prompts !== null && (await prompts.adopt(names, run.signal)))) {
    if (run.signal.aborted) throw new Interrupted("SIGINT");
    throw new InfraError("INFRA_DATA_EXISTS", `Data of an earlier stack stand on the target: ${names.join(", ")}.`, {
      hint: "Take them over with --adopt, or give the stack another name (deployment.name). They are never overwritten.",
    });
  }
  session.report(`Taking over ${names.join(", ")}`);
  return new Set([...own, ...names]);
}

/** Two programs on the same data ruin them, two databases above all: what runs on them has to be stopped first. */
function refuseUsed(strange: readonly ExistingData[]): void {
  const used = strange.filter(({ usedBy = [] }) => usedBy.length > 0);
  const [first] = used;
  if (!first) return;
  const users = [...new Set(used.flatMap(({ usedBy = [] }) => usedBy))].sort().join(", ");
  const names = [...new Set(used.map(({ name }) => name))].sort().join(", ");
  throw new InfraError("INFRA_DATA_EXISTS", `Data of an earlier stack are in use: ${names}, by ${users}.`, {
    hint: `Stop ${users} and see that nothing starts it again, then take the data over with --adopt.`,
  });
}

/** What is there and not recorded. */
export function unknownData(existing: readonly ExistingData[], state: ExportedState | null): readonly ExistingData[] {
  const recorded = new Set(resourcesOf(state).flatMap(({ name, id }) => [name, ...(id === null ? [] : [id])]));
  return existing.filter(({ name }) => !recorded.has(name) && ![...recorded].some((id) => id.endsWith(`/${name}`)));
}

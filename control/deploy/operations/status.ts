/** `infra status`: what is deployed and how it is now. Observes the target, and reads only the state from the engine. */

import { pendingOf, resourcesOf } from "../engine/checkpoint.ts";
import type { StatusResult } from "../schemas.ts";
import { listCopies } from "../state/copies.ts";
import { inspectLock, publicHolder } from "../state/operator-lock.ts";
import { shownBackend } from "./backend.ts";
import { readRecord } from "./record.ts";
import type { OperationInput } from "./services.ts";
import { openSession } from "./session.ts";

export async function status(run: OperationInput): Promise<StatusResult> {
  const session = await openSession(run);
  const { project, files, driver, engine } = session;
  const { plan } = project;
  const [state, record, lock, locks, copies] = await Promise.all([
    session.state(),
    readRecord(run.dir),
    inspectLock(files.lock, await run.services.identity()),
    engine.locks(),
    listCopies(files),
  ]);
  const existing = resourcesOf(state);
  const deployed = existing.some((one) => !one.protected);
  const observed = deployed ? await driver.observe(run.signal) : [];
  const [engineLock] = locks;
  const holder =
    lock.state === "free" || lock.holder === null
      ? engineLock
        ? { ...pick(engineLock), command: "unknown" }
        : null
      : publicHolder(lock.holder);
  return {
    schema: 1,
    stack: plan.stack,
    target: plan.target,
    deployed,
    deployed_at: deployed ? (record?.deployed_at ?? null) : null,
    backend: shownBackend(engine.backend),
    nodes: plan.nodes.map(({ name, image }) => {
      const seen = observed.find((one) => one.name === name);
      const recorded = record?.nodes.find((one) => one.name === name);
      return {
        name,
        workload: recorded?.workload ?? seen?.workload ?? `${plan.stack}-${name}`,
        place: recorded?.place ?? seen?.place ?? "unknown",
        image: seen?.image ?? recorded?.image ?? "",
        url: recorded?.url ?? null,
        certificate_sha256: recorded?.certificate_sha256 ?? null,
        state: seen?.state ?? (deployed ? "unknown" : "missing"),
        health: seen?.health ?? "unknown",
        reason: seen?.reason ?? null,
        planned_image: image === null ? null : (image.digest ?? image.id ?? image.reference),
      };
    }),
    data: existing
      .filter((one) => one.protected)
      .sort((a, b) => a.name.localeCompare(b.name))
      .map(({ name }) => ({ name, place: record?.data.find((one) => one.name === name)?.place ?? "unknown" })),
    holder,
    pending: pendingOf(state).length,
    copies: copies.length,
  };
}

function pick({ user, host, pid, started_at }: { user: string; host: string; pid: number; started_at: string }) {
  return { user, host, pid, started_at };
}

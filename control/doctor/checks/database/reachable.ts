/** Whether the store can be reached: the server by a question, the embedded store through its node or by its files. */

import { bytes } from "../../../output/words.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import type { StoreSnapshot } from "../../context/store.ts";
import { type Check, fail, type Outcome, pass } from "../check.ts";

export const databaseReachable: Check = {
  id: "database.reachable",
  subject: "whether the database answers",
  async run(context) {
    const snapshot = await context.database();
    if (snapshot.backend === "stack") return ofStack(context);
    if (snapshot.backend === "embedded") return ofStore(context, snapshot.store);
    if (snapshot.server === null)
      return fail(`The PostgreSQL server cannot be used: ${snapshot.reason}.`, snapshot.fix);
    const { health } = await context.node();
    if (health?.memory["reachable"] === false) {
      return fail(
        "The PostgreSQL server answers here, but the node cannot reach it.",
        "Look at the node's log (`cairn logs --level warn`) and at the network between the node and the server.",
      );
    }
    return pass(`PostgreSQL ${snapshot.server.version} answers.`);
  },
};

/** From where the nodes stand. */
async function ofStack(context: ProbeContext): Promise<Outcome> {
  const { memory } = await context.health();
  const { stack } = await context.node();
  const without = stack.filter(({ health }) => health?.memory["reachable"] === false);
  const isWhole = memory["reachable"] !== false && without.length === 0;
  const { version } = memory;
  if (isWhole) {
    const name = memory["backend"] === "embedded" ? "The embedded store" : "PostgreSQL";
    return pass(`${name}${typeof version === "string" ? ` ${version}` : ""} answers, through the node.`);
  }
  const who = stack.length > 1 ? `Without their database: ${without.map(({ name }) => name).join(", ")}` : null;
  const why = without.map(({ health }) => health?.memory["error"]).find((error) => typeof error === "string");
  const { postgres } = (await context.config()).deployment.datahub;
  return fail(
    `${who ?? "The node cannot reach its database"}${why === undefined ? "" : ` (${why})`}.`,
    postgres
      ? "See `cairn infra status` and `cairn logs --postgres`; `cairn infra up` brings back what is missing."
      : "See whether the server of memory.postgres runs, and the network between it and the nodes.",
  );
}

async function ofStore(context: ProbeContext, store: StoreSnapshot): Promise<Outcome> {
  const { health } = await context.node();
  if (health?.memory["reachable"] === false) {
    return fail(
      "The node cannot use its embedded store.",
      "Look at the node's log (`cairn logs --level warn`), then `cairn restart`.",
    );
  }
  if (health !== null) return pass(`The embedded store answers, through the node (${bytes(store.bytes)}).`);
  if (store.problem !== null) {
    return fail(
      `The embedded store cannot be looked into: ${store.problem}.`,
      `Give ${store.path} to the user of the service.`,
    );
  }
  if (store.state === "incomplete") {
    return fail(
      `The directory ${store.path} holds no complete database.`,
      "Restore it from a backup (`cairn memory restore`), or rename it to start with an empty store.",
    );
  }
  if (store.state === "new") return pass(`The embedded store will be made at the first start, in ${store.path}.`);
  return pass(`The embedded store is in ${store.path} (${bytes(store.bytes)}).`);
}

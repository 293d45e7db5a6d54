/** Whether each provider that is used with a subscription has a login that works: on this machine, or on each deployed node. */

import { isUsable, problemOf, readCredentials } from "../../../../runtime/config/index.ts";
import { CairnError } from "../../../../runtime/contracts/errors.ts";
import { providersWithLogin } from "../../../login/configured.ts";
import { callNode, type NodeSnapshot } from "../../context/node.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import { usedProviders } from "../../context/used-providers.ts";
import { type Check, fail, pass, skip, Unavailable, warn } from "../check.ts";

interface Missing {
  readonly provider: string;
  /** Null: this machine. */
  readonly node: string | null;
  /** Why what is there cannot be used; null: there is none, or it is over. */
  readonly problem: string | null;
}

export const providersLogins: Check = {
  id: "providers.logins",
  subject: "the logins of the providers",
  async run(context, signal) {
    const config = await context.config();
    const ids = providersWithLogin(config);
    if (ids.length === 0) return skip("No provider is used with a login.");
    const missing =
      (await context.target()) === null ? await missingHere(context, ids) : await missingThere(context, ids, signal);
    const [first] = missing;
    if (first === undefined) return pass("There is a login wherever one is used.");
    const needed = new Set(usedProviders(config).flatMap(({ id, use }) => (use === "needed" ? [id] : [])));
    const words = missing.map(({ provider, node, problem }) => {
      const where = node === null ? "" : ` on ${node}`;
      return `${provider}${where}${problem === null ? "" : ` (${problem.replace(/[.]$/, "")})`}`;
    });
    const message = `No login that can be used: ${words.join(", ")}.`;
    const fix = `Run \`cairn login ${first.provider}${first.node === null ? "" : ` --node ${first.node}`}\`.`;
    return missing.some(({ provider }) => needed.has(provider)) ? fail(message, fix) : warn(message, fix);
  },
};

async function missingHere(context: ProbeContext, ids: readonly string[]): Promise<readonly Missing[]> {
  const found = await Promise.all(
    ids.map(async (provider): Promise<Missing[]> => {
      const credentials = await readCredentials(context.home(), provider);
      if (credentials === null) return [{ provider, node: null, problem: null }];
      if (isUsable(credentials, new Date())) return [];
      return [{ provider, node: null, problem: problemOf(credentials) }];
    }),
  );
  return found.flat();
}

async function missingThere(
  context: ProbeContext,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Missing[]> {
  const node = await context.node();
  const answering = node.stack.filter(({ client }) => client !== null);
  if (answering.length === 0) throw new Unavailable(node.reason, ["deployment.node"]);
  const found = await Promise.all(answering.map((one) => missingOn({ ...node, ...one }, one.name, ids, signal)));
  return found.flat();
}

async function missingOn(
  node: NodeSnapshot,
  name: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Missing[]> {
  try {
    const logins = await callNode(node, signal, (client) => client.logins({ signal }));
    return ids.flatMap((provider) => {
      const login = logins.find((one) => one.provider === provider);
      return login?.logged_in ? [] : [{ provider, node: name, problem: login?.problem ?? null }];
    });
  } catch (error) {
    if (!(error instanceof CairnError) || error.code !== "RUNTIME_NOT_FOUND") throw error;
    throw new Unavailable(`The node ${name} is of a version that takes no login.`, ["updates.running"]);
  }
}

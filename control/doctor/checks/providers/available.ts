/** The node's own view of its providers: it may reach another network than this command does. */

import { isLocal } from "../../../../runtime/contracts/urls.ts";
import { usedProviders } from "../../context/used-providers.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, warn } from "../check.ts";

export const providersAvailable: Check = {
  id: "providers.available",
  subject: "the providers as the node sees them",
  async run(context) {
    const { providers } = await context.health();
    const unreachable = Object.entries(providers).filter(([, { available }]) => !available);
    // An older node does not report them.
    const suspended = Object.entries(providers).flatMap(([id, { circuits = [] }]) =>
      circuits.flatMap(({ model, state, last_error }) =>
        state === "closed" ? [] : [`${id}:${model} (last failure: ${last_error})`],
      ),
    );
    if (unreachable.length === 0 && suspended.length === 0) return pass("The node can use all of its providers.");
    if (unreachable.length === 0) {
      return warn(
        `After repeated failures the node has suspended its calls of ${suspended.join(", ")}.`,
        "It tries again by itself every 30 seconds. The failures are in the node's log; see also providers.reachable.",
      );
    }
    const names = unreachable.map(([id]) => id);
    const needed = usedProviders(await context.config())
      .filter(({ use }) => use === "needed")
      .map(({ id }) => id);
    const message = `The node cannot use ${names.join(", ")}.`;
    const fix = `See providers.keys and providers.reachable; after a change ${await applyCommand(context)}.`;
    // Where none of them answers here either, that is the one cause.
    const servers = await context.modelServers();
    const target = await context.target();
    const isHere = (id: string): boolean => {
      const server = servers.find((one) => one.id === id);
      return server?.answer.kind === "unreachable" || (target !== null && isLocal(server?.url ?? ""));
    };
    const rest = names.every(isHere) ? { see: ["providers.reachable"] } : {};
    return names.some((id) => needed.includes(id)) ? fail(message, fix, rest) : warn(message, fix, rest);
  },
};

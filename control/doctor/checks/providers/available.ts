/** What the node itself says of its providers: it may see another network than this command does. */

import { type Check, fail, pass, warn } from "../check.ts";
import { usedProviders } from "./usage.ts";

export const providersAvailable: Check = {
  id: "providers.available",
  subject: "the providers as the node sees them",
  async run(scene) {
    const { providers } = await scene.health();
    const away = Object.entries(providers).filter(([, { available }]) => !available);
    if (away.length === 0) return pass("The node can use all of its providers.");
    const names = away.map(([id]) => id);
    const needed = usedProviders(await scene.config())
      .filter(({ use }) => use === "needed")
      .map(({ id }) => id);
    const message = `The node cannot use ${names.join(", ")}.`;
    const fix = "See providers.keys and providers.reachable; after a change `cairn restart`.";
    return names.some((id) => needed.includes(id)) ? fail(message, fix) : warn(message, fix);
  },
};

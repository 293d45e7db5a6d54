/** Whether every provider has the models that the agents ask it for, by the list that it gives. */

import type { Config } from "../../../../runtime/config/index.ts";
import { hasModel } from "../../../../runtime/contracts/model-names.ts";
import { isLocal } from "../../../../runtime/contracts/urls.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

/** Names of a long list that are shown. */
const SHOWN = 20;

export const providersModels: Check = {
  id: "providers.models",
  subject: "whether the providers have the models of the agents",
  async run(context) {
    const config = await context.config();
    const servers = await context.modelServers();
    const listed = servers.flatMap(({ id, provider, url, answer }) =>
      answer.kind === "answered" && answer.models !== null && url !== null
        ? [{ id, provider, url, models: answer.models }]
        : [],
    );
    if (listed.length === 0) return skip("No provider gives a list of its models.");
    const wanted = wantedModels(config);
    const missing = listed.flatMap((server) =>
      wanted
        .filter(({ provider, model }) => provider === server.id && !hasModel(server.models, model))
        .map((entry) => ({ ...entry, server })),
    );
    const [first] = missing;
    if (first === undefined) return pass("The providers have the models that the agents use.");
    const named = missing.map(({ provider, model, who }) => `${provider} does not have the model ${model} (${who})`);
    const { models } = first.server;
    const bring = first.server.provider.kind === "ollama" ? `, or fetch it (\`ollama pull ${first.model}\`)` : "";
    const choice = models.length === 0 ? "It has none yet" : "Name one that it has (`cairn model NAME`)";
    // The list of a service elsewhere may leave out names that it takes all the same.
    const certain = missing.some(({ server, needed }) => needed && isLocal(server.url));
    return (certain ? fail : warn)(`${named.join("; ")}.`, `${choice}${bring}, then ${await applyCommand(context)}.`, {
      details: models.slice(0, SHOWN).map((model) => `${first.provider} has ${model}`),
    });
  },
};

interface Wanted {
  readonly provider: string;
  readonly model: string;
  readonly who: string;
  /** Not only as a fallback. */
  readonly needed: boolean;
}

function wantedModels({ agents, providers }: Config): readonly Wanted[] {
  const all = Object.entries(agents).flatMap(([agent, { provider, model, fallbacks }]) => [
    { provider, model: model ?? providers[provider]?.model, who: agent, needed: true },
    ...fallbacks.map((entry) => {
      const [id = "", ...rest] = entry.split(":");
      return { provider: id, model: rest.join(":"), who: `fallback of ${agent}`, needed: false };
    }),
  ]);
  const byModel = Map.groupBy(
    all.filter((entry): entry is Wanted => entry.model !== undefined && entry.model !== ""),
    ({ provider, model }) => JSON.stringify([provider, model]),
  );
  return [...byModel.values()].flatMap(([first, ...rest]) =>
    first === undefined
      ? []
      : [
          {
            ...first,
            who: [first, ...rest].map(({ who }) => who).join(", "),
            needed: [first, ...rest].some(({ needed }) => needed),
          },
        ],
  );
}

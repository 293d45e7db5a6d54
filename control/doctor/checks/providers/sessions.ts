/** Whether the models that sessions were given with `/model` are there: such a session does not heed the configuration. */

import type { SessionRecord } from "../../../../runtime/client/index.ts";
import type { Config } from "../../../../runtime/config/index.ts";
import { hasModel } from "../../../../runtime/contracts/model-names.ts";
import type { ModelServer } from "../../context/model-servers.ts";
import { type Check, pass, skip, warn } from "../check.ts";

/** Sessions that are named. */
const SHOWN = 20;

export const providersSessions: Check = {
  id: "providers.sessions",
  subject: "whether sessions were given models that are not there",
  async run(context) {
    const config = await context.config();
    const given = (await context.sessions()).filter(({ agent, model }) => model && Object.hasOwn(config.agents, agent));
    if (given.length === 0) return skip("No session has a model of its own.");
    const servers = await context.modelServers();
    const wrong = given.flatMap((session) => {
      const why = missingOf(session, config, servers);
      return why === null ? [] : [{ session, why }];
    });
    const [first] = wrong;
    if (first === undefined) {
      return pass(
        `${given.length === 1 ? "The session" : `The ${given.length} sessions`} with another model can use it.`,
      );
    }
    const name = first.session.name ?? first.session.session_key;
    return warn(
      `${first.session.agent}'s session ${name} was given ${first.session.model} with /model, and ${first.why}${wrong.length === 1 ? "" : `; so ${wrong.length - 1} more`}.`,
      `Type \`/model default\` in it (\`cairn chat --agent ${first.session.agent} --session ${name}\`): then it has the agent's own model.`,
      {
        details: wrong
          .slice(0, SHOWN)
          .map(
            ({ session, why }) => `${session.agent}, ${session.name ?? session.session_key}: ${session.model}, ${why}`,
          ),
      },
    );
  },
};

/** Null where nothing is known to be wrong. */
function missingOf({ model }: SessionRecord, { providers }: Config, servers: readonly ModelServer[]): string | null {
  const [id = "", ...rest] = (model ?? "").split(":");
  if (!Object.hasOwn(providers, id)) return `there is no provider ${id}`;
  const answer = servers.find((server) => server.id === id)?.answer;
  if (answer?.kind !== "answered" || answer.models === null || hasModel(answer.models, rest.join(":"))) return null;
  return `${id} does not have it`;
}

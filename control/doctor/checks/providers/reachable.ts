/** Whether every provider answers, and takes its key. */

import { isLocal } from "../../../../runtime/contracts/urls.ts";
import type { ModelServer } from "../../context/model-servers.ts";
import { shown } from "../../context/used-providers.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

export const providersReachable: Check = {
  id: "providers.reachable",
  subject: "whether the providers answer",
  async run(context) {
    const servers = await context.modelServers();
    if (servers.length === 0) return skip("There is no provider.");
    const apply = await applyCommand(context);
    const target = await context.target();
    // Nodes in containers stand elsewhere than this command: their own word counts.
    const seen: Readonly<Record<string, { readonly available: boolean }>> =
      target === null
        ? {}
        : await context.health().then(
            ({ providers }) => providers,
            () => ({}),
          );
    const from = (id: string): Standpoint => ({ target, available: seen[id]?.available ?? null });
    const answers = servers.map((server) => ({ ...server, ...classify(server, apply, from(server.id)) }));
    const lines = answers.map(({ id, text }) => `${id}: ${text}`);
    const bad = answers.filter(({ level }) => level === "bad");
    const unexpected = answers.filter(({ level }) => level === "odd");
    const [first] = [...bad, ...unexpected];
    if (first === undefined) return pass(said(answers), lines);
    const named = [...bad, ...unexpected].map(({ id, text }) => `${id} ${text}`).join("; ");
    const needed = bad.some(({ use }) => use === "needed");
    return (needed ? fail : warn)(`${named}.`, first.fix, { details: lines });
  },
};

/** Where the nodes stand, and what they say of the provider; null where that is this machine, or none says anything. */
interface Standpoint {
  readonly target: string | null;
  readonly available: boolean | null;
}

interface Classified {
  readonly level: "good" | "odd" | "bad";
  /** To be read after the provider's id. */
  readonly text: string;
  readonly fix: string;
}

function said(answers: readonly (Classified & { readonly id: string })[]): string {
  return answers.length === 1 ? `${answers[0]?.id} ${answers[0]?.text}.` : `All ${answers.length} providers answer.`;
}

function classify({ url, answer }: ModelServer, apply: string, { target, available }: Standpoint): Classified {
  const classified = (level: Classified["level"], text: string, fix = ""): Classified => ({ level, text, fix });
  if (url === null || answer.kind === "serverless") return classified("good", "needs no server");
  if (target !== null && isLocal(url)) {
    return classified(
      "bad",
      `is given as ${shown(url)}, which in a container of ${target} is the container itself`,
      `Let the server listen beyond loopback (Ollama: OLLAMA_HOST=0.0.0.0), write the address of its machine in the network as providers.<id>.base_url, then ${apply}.`,
    );
  }
  if (answer.kind === "not-asked") {
    return answer.why === "password-manager"
      ? classified("good", "is not asked: its key is in the password manager")
      : classified("odd", "is not asked: it has no key", "Put the key into .env.");
  }
  if (answer.kind === "unreachable" && available === true) {
    return classified("good", `answers the nodes at ${shown(url)}, which this machine does not reach`);
  }
  if (answer.kind === "unreachable") {
    return classified(
      "bad",
      `cannot be reached at ${shown(url)} (${answer.reason})`,
      isLocal(url)
        ? "Start the model server, or correct providers.<id>.base_url."
        : "Check the network, a proxy, and providers.<id>.base_url.",
    );
  }
  const { status } = answer;
  if (status === 401 || status === 403) {
    return classified("bad", `refuses the key (status ${status})`, `Put a valid key into .env, then ${apply}.`);
  }
  if (status === 429) {
    return classified(
      "odd",
      "answers that there were too many requests (status 429)",
      "Wait, or raise the limit of the account.",
    );
  }
  if (status >= 500) {
    return classified(
      "odd",
      `reports an internal error (status ${status})`,
      "Wait, and look at the provider's status page; fallbacks help meanwhile.",
    );
  }
  if (status >= 300 && status < 400) {
    return classified(
      "odd",
      `redirects requests (status ${status})`,
      "Correct providers.<id>.base_url: redirects are not followed with a key.",
    );
  }
  // A server without such a list is there all the same.
  return classified("good", `answers at ${shown(url)}`);
}

/** Whether every provider answers, and takes its key: asked for its list of models, which costs nothing. */

import { isSecretReference } from "../../../../runtime/config/references.ts";
import { reasonOf } from "../../context/regular-file.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";
import { modelList, shown, type UsedProvider, usedProviders } from "./usage.ts";

export const providersReachable: Check = {
  id: "providers.reachable",
  subject: "whether the providers answer",
  async run(context, signal) {
    const used = usedProviders(await context.config());
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(context.probeMs)]);
    const apply = await applyCommand(context);
    const answers = await Promise.all(used.map((entry) => ask(entry, apply, deadline)));
    const lines = answers.map(({ id, text }) => `${id}: ${text}`);
    if (answers.length === 0) return skip("There is no provider.");
    const bad = answers.filter(({ level }) => level === "bad");
    const unexpected = answers.filter(({ level }) => level === "odd");
    const named = [...bad, ...unexpected].map(({ id, text }) => `${id} ${text}`).join("; ");
    const [first] = [...bad, ...unexpected];
    if (first === undefined) return pass(said(answers), lines);
    const needed = bad.some(({ use }) => use === "needed");
    return (needed ? fail : warn)(`${named}.`, first.fix, { details: lines });
  },
};

interface Answer extends Pick<UsedProvider, "id" | "use"> {
  readonly level: "good" | "odd" | "bad";
  /** To be read after the provider's id. */
  readonly text: string;
  readonly fix: string;
}

function said(answers: readonly Answer[]): string {
  return answers.length === 1 ? `${answers[0]?.id} ${answers[0]?.text}.` : `All ${answers.length} providers answer.`;
}

async function ask({ id, use, provider }: UsedProvider, apply: string, signal: AbortSignal): Promise<Answer> {
  const answer = (level: Answer["level"], text: string, fix = ""): Answer => ({ id, use, level, text, fix });
  const list = modelList(provider);
  if (list === null) return answer("good", "needs no server");
  if (provider.api_key !== undefined && isSecretReference(provider.api_key)) {
    return answer("good", "is not asked: its key is in the password manager");
  }
  // Without its key it would only answer that; providers.keys reports it.
  if (list.needsKey && !provider.api_key) return answer("odd", "is not asked: it has no key", "Put the key into .env.");
  const paths = shown(list.url);
  try {
    const response = await fetch(list.url, { headers: { ...list.headers }, redirect: "manual", signal });
    await response.body?.cancel();
    return classify(response.status);
  } catch (error) {
    const reason = signal.aborted ? "no answer in time" : causeOf(error);
    const local = /^https?:\/\/(?:127\.|localhost|\[::1\])/.test(list.url);
    return answer(
      "bad",
      `cannot be reached at ${paths} (${reason})`,
      local
        ? "Start the model server, or correct providers.<id>.base_url."
        : "Check the network, a proxy, and providers.<id>.base_url.",
    );
  }

  function classify(status: number): Answer {
    if (status === 401 || status === 403) {
      return answer("bad", `refuses the key (status ${status})`, `Put a valid key into .env, then ${apply}.`);
    }
    if (status === 429)
      return answer(
        "odd",
        "answers that there were too many requests (status 429)",
        "Wait, or raise the limit of the account.",
      );
    if (status >= 500)
      return answer(
        "odd",
        `reports an internal error (status ${status})`,
        "Wait, and look at the provider's status page; fallbacks help meanwhile.",
      );
    if (status >= 300 && status < 400) {
      return answer(
        "odd",
        `redirects requests (status ${status})`,
        "Correct providers.<id>.base_url: redirects are not followed with a key.",
      );
    }
    // A server without such a list is there all the same.
    return answer("good", `answers at ${paths}`);
  }
}

/** What fetch hides: "fetch failed" has its reason inside. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return reasonOf(cause);
}

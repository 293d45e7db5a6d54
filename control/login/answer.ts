/** What is pasted after a login: the address that the browser ended at, or the code that a page showed. Pure. */

import { UsageError } from "../output/failure.ts";

/**
 * The parameters of the answer. Taken are a whole address, its query, and `code#state`. A code without its state is not:
 * it could be the answer to another login. Throws a UsageError.
 */
export function parseAnswer(pasted: string): URLSearchParams {
  const text = pasted.trim();
  const address = URL.parse(text);
  if (address !== null && /^https?:$/.test(address.protocol)) return complete(address.searchParams);
  if (/^\??(?:[a-z_]+=[^&\s]*)(?:&[a-z_]+=[^&\s]*)*$/i.test(text)) return complete(new URLSearchParams(text));
  const [code = "", state = "", ...more] = text.split("#");
  if (code === "" || state === "" || more.length > 0 || /\s/.test(text)) throw notUnderstood();
  return new URLSearchParams({ code, state });
}

function complete(answer: URLSearchParams): URLSearchParams {
  const whole = answer.has("state") && (answer.has("code") || answer.has("error"));
  if (!whole) throw notUnderstood();
  return answer;
}

function notUnderstood(): UsageError {
  return new UsageError(
    "That is not the answer of a login.",
    "Paste the whole address that the browser shows after the login, or the code with its state: CODE#STATE.",
  );
}

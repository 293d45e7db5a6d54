/** Sends the token of a login with each request, and another one once where the server refuses it. */

import { CairnError } from "../../contracts/errors.ts";
import { ConnectionFailure } from "./connection-failure.ts";
import type { LoginSource } from "./settings.ts";

type Send = (input: string | URL, init: RequestInit) => Promise<Response>;

/** ConnectionFailure where a login is missing, or is of no use any more. */
export function withLogin(send: Send, { command, token, renew }: LoginSource): Send {
  const asked = (work: Promise<string | null>) =>
    work.catch((error: unknown) => {
      if (!(error instanceof CairnError)) throw error;
      throw new ConnectionFailure(`its login cannot be used (${error.message.replace(/[.]$/, "")})`, { cause: error });
    });
  return async (input, init) => {
    const signal = init.signal ?? undefined;
    const first = await asked(token(signal));
    const response = await send(input, withToken(init, first));
    if (response.status !== 401) return response;
    await response.body?.cancel();
    if (first === null) throw new ConnectionFailure(`it wants a login: run \`${command}\``);
    const again = await send(input, withToken(init, await asked(renew(first, signal))));
    if (again.status !== 401) return again;
    await again.body?.cancel();
    throw new ConnectionFailure(`it refuses its login: run \`${command}\` again`);
  };
}

function withToken(init: RequestInit, token: string | null): RequestInit {
  if (token === null) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

/** Asks a service for speech whether it takes the key that was typed at a setup: for its list of models, which costs nothing. */

import { ChannelError } from "../../../contracts/errors.ts";
import { networkReason } from "../../../contracts/system-errors.ts";
import type { TypedSecret } from "../manifest.ts";

/** CHANNEL_REFUSED for a key that is not taken; CHANNEL_CONNECTION_LOST where the service cannot be asked. */
export async function verifyKey({ key, value, settings }: TypedSecret, signal: AbortSignal): Promise<string> {
  const route = key.replace(/\.api_key$/, "");
  const base = settings[`${route}.base_url`] ?? "";
  const host = URL.parse(base)?.host ?? base;
  let status: number;
  try {
    const answer = await fetch(`${base.replace(/\/+$/, "")}/models`, {
      headers: { authorization: `Bearer ${value}` },
      redirect: "manual",
      signal,
    });
    status = answer.status;
    await answer.body?.cancel();
  } catch (error) {
    signal.throwIfAborted();
    throw new ChannelError("CHANNEL_CONNECTION_LOST", `${host} cannot be reached (${networkReason(error)}).`);
  }
  if (status === 401 || status === 403) throw new ChannelError("CHANNEL_REFUSED", `${host} refuses the key.`);
  if (status !== 200) throw new ChannelError("CHANNEL_CONNECTION_LOST", `${host} answers with status ${status}.`);
  return `${host} takes the key.`;
}

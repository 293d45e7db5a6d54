/** The calls of Pager that a channel makes. Each ends within its time, and its errors hold no token. */

import { z } from "zod";
import type { Attachment } from "../../../../../runtime/contracts/channel.ts";
import { ChannelError } from "../../../../../runtime/contracts/errors.ts";

const received = z.array(
  z.object({ number: z.int(), from: z.string(), name: z.string(), text: z.string(), at: z.iso.datetime() }),
);
const posted = z.object({ id: z.string() });
export type PagerMessage = z.infer<typeof received>[number];

export interface PagerApi {
  /** Waits for one, up to so many seconds. */
  messagesAfter(number: number, waitS: number, signal: AbortSignal): Promise<readonly PagerMessage[]>;
  /** Both resolve to the id of the message. */
  post(to: string, text: string): Promise<string>;
  postFile(to: string, file: Attachment): Promise<string>;
}

const ANSWER_MS = 20_000;
/** The same call would be refused again. */
const REFUSED = new Set([400, 403, 404, 413]);

export function createPagerApi(baseUrl: string, token: string): PagerApi {
  async function call<Body>(path: string, schema: z.ZodType<Body>, init: RequestInit, ms = ANSWER_MS): Promise<Body> {
    const late = AbortSignal.timeout(ms);
    const signal = init.signal ? AbortSignal.any([init.signal, late]) : late;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    let status: number;
    try {
      const response = await fetch(`${baseUrl}${path}`, { ...init, headers, signal });
      status = response.status;
      if (response.ok) return schema.parse(await response.json());
      await response.body?.cancel();
    } catch {
      // The error may hold the request: nothing of it gets out.
      throw new ChannelError("CHANNEL_CONNECTION_LOST", "Pager cannot be reached, or what answers is not Pager.");
    }
    if (REFUSED.has(status)) throw new ChannelError("CHANNEL_REFUSED", `Pager answers ${status}.`);
    const sentence = status === 401 ? "Pager refuses the bot's token." : `Pager answers ${status}.`;
    throw new ChannelError("CHANNEL_CONNECTION_LOST", sentence);
  }

  const post = async (message: object): Promise<string> =>
    (await call("/messages", posted, { method: "POST", body: JSON.stringify(message) })).id;

  return {
    messagesAfter: (number, waitS, signal) =>
      call(`/messages?after=${number}&wait=${waitS}`, received, { signal }, waitS * 1_000 + ANSWER_MS),
    post: (to, text) => post({ to, text }),
    postFile: (to, { name, data }) => post({ to, text: "", file: { name, data } }),
  };
}

/** The calls of Slack's Web API that a channel makes. Each ends within its time, and waits once where Slack asks for a short pause. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  type ChatPostMessageArguments,
  type KnownBlock,
  LogLevel,
  type Logger as SlackLogger,
  WebAPIRateLimitedError,
  WebClient,
  type WebClientOptions,
} from "@slack/web-api";
import { ChannelError } from "../../../contracts/errors.ts";
import { isId, isTime, type SlackAddress } from "./address.ts";
import { openingError } from "./errors.ts";

export interface SlackApi {
  /** The bot's own user id. */
  identity(signal: AbortSignal): Promise<string>;
  /** Where one connection can be opened. */
  socketUrl(signal: AbortSignal): Promise<string>;
  /** One page of messages after one, in no order that is promised. */
  messagesAfter(address: SlackAddress, after: string, cursor: string | undefined, signal: AbortSignal): Promise<Page>;
  /** Resolves to the time of the message, which is its id. */
  post(address: SlackAddress, content: Content): Promise<string>;
  change(channel: string, message: string, content: Content): Promise<void>;
  remove(channel: string, message: string): Promise<void>;
  /** `name`: Slack's, without colons. */
  react(channel: string, message: string, name: string): Promise<void>;
  /** Shown to one user alone. */
  whisper(address: SlackAddress, user: string, text: string): Promise<void>;
  /** Resolves to the id of the file: that of its message is not given. */
  upload(address: SlackAddress, file: UploadedFile): Promise<string>;
}

export interface Content {
  /** Escaped. With blocks it is what notifications show. */
  readonly text: string;
  readonly blocks?: KnownBlock[];
}

export interface Page {
  readonly messages: readonly unknown[];
  /** Of the next page. */
  readonly cursor: string | undefined;
}

export interface UploadedFile {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface ApiDeps {
  /** The bot's. */
  readonly token: string;
  /** The app's, for its connections. */
  readonly appToken: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Aborts when the channel stops. */
  readonly signal: AbortSignal;
}

/** Messages of a page (conversations.history). */
const PAGE = 200;
/** Milliseconds that a call may take; those of a file take longer together, and less than the outbox waits for a sender. */
const ANSWER_MS = 15_000;
const UPLOAD_MS = 50_000;
/** Seconds: a longer pause is the caller's to keep. */
const MOST_PAUSE_S = 5;
/** Nothing that an agent writes becomes a mention, and no address in it is fetched by Slack. */
const PLAIN = {
  parse: "none",
  link_names: false,
  unfurl_links: false,
  unfurl_media: false,
} as const satisfies Partial<ChatPostMessageArguments>;

/** CHANNEL_CONNECTION_LOST with the pause that Slack asks for; errors of the library. */
export function createApi({ token, appToken, baseUrl, signal: stopping }: ApiDeps): SlackApi {
  /** One more attempt after a short pause; `request` is the whole call. */
  async function call<Answer>(
    request: (client: WebClient) => Promise<Answer>,
    { given = token, signal }: { readonly given?: string; readonly signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const ending = signal === undefined ? stopping : AbortSignal.any([stopping, signal]);
    const client = clientOf(baseUrl, given, ending);
    try {
      return await request(client);
    } catch (error) {
      if (!(error instanceof WebAPIRateLimitedError)) throw error;
      if (error.retryAfter > MOST_PAUSE_S) throw pauseAsked(error);
      await sleep(error.retryAfter * 1_000, undefined, { signal: ending });
      return request(client).catch((again: unknown) => {
        throw again instanceof WebAPIRateLimitedError ? pauseAsked(again) : again;
      });
    }
  }

  return {
    async identity(signal) {
      const { user_id: user } = await call(({ auth }) => auth.test(), { signal });
      if (!isId(user)) throw notSlack();
      return user;
    },
    async socketUrl(signal) {
      const open = call(({ apps }) => apps.connections.open({}), { given: appToken, signal });
      const { url } = await open.catch((error: unknown) => {
        throw openingError(error);
      });
      if (url === undefined || !/^wss?:/.test(url)) throw notSlack();
      return url;
    },
    async messagesAfter({ channel, thread: { thread_ts: ts } }, oldest, cursor, signal) {
      const given = { channel, oldest, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
      const { messages, response_metadata: more } = await call(
        ({ conversations }): Promise<{ messages?: unknown[]; response_metadata?: { next_cursor?: string } }> =>
          ts === undefined ? conversations.history(given) : conversations.replies({ ...given, ts }),
        { signal },
      );
      if (!Array.isArray(messages)) throw notSlack();
      return { messages, cursor: more?.next_cursor || undefined };
    },
    async post({ channel, thread }, { text, blocks }) {
      const { ts } = await call(({ chat }) =>
        chat.postMessage({ channel, ...thread, text, ...(blocks ? { blocks } : {}), ...PLAIN }),
      );
      if (!isTime(ts)) throw notSlack();
      return ts;
    },
    async change(channel, ts, { text, blocks }) {
      const { parse, link_names } = PLAIN;
      await call(({ chat }) => chat.update({ channel, ts, text, ...(blocks ? { blocks } : {}), parse, link_names }));
    },
    async remove(channel, ts) {
      await call(({ chat }) => chat.delete({ channel, ts }));
    },
    async react(channel, timestamp, name) {
      await call(({ reactions }) => reactions.add({ channel, timestamp, name }));
    },
    async whisper({ channel, thread }, user, text) {
      await call(({ chat }) =>
        chat.postEphemeral({ channel, ...thread, user, text, parse: "none", link_names: false }),
      );
    },
    async upload({ channel, thread }, { name, bytes }) {
      const length = bytes.length;
      const signal = AbortSignal.timeout(UPLOAD_MS);
      const { file_id: id, upload_url: url } = await call(
        ({ files }) => files.getUploadURLExternal({ filename: name, length }),
        { signal },
      );
      if (!isId(id) || url === undefined) throw notSlack();
      await put(url, bytes, AbortSignal.any([stopping, signal]));
      await call(
        ({ files }) => files.completeUploadExternal({ files: [{ id, title: name }], channel_id: channel, ...thread }),
        { signal },
      );
      return id;
    },
  };
}

/** Attempts and pauses are the callers': the library would repeat a call for half an hour. */
function clientOf(baseUrl: string, token: string, signal: AbortSignal): WebClient {
  const aborting: NonNullable<WebClientOptions["fetch"]> = (url, init) =>
    fetch(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal });
  return new WebClient(token, {
    slackApiUrl: `${baseUrl}/`,
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: ANSWER_MS,
    fetch: aborting,
    logger: NO_LOGGER,
  });
}

/** The address is a ticket for this file: it is given no token. */
async function put(url: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { method: "POST", body: new Uint8Array(bytes), signal, redirect: "error" });
  await response.body?.cancel();
  if (response.ok) return;
  throw new ChannelError("CHANNEL_CONNECTION_LOST", `Slack answers ${response.status} to a file.`);
}

function pauseAsked({ retryAfter: retryAfterS }: WebAPIRateLimitedError): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", `Slack asks for a pause of ${retryAfterS} s.`, {
    retryAfterS,
    notTaken: true,
  });
}

function notSlack(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "What answers is not Slack.");
}

/** The library's own lines hold requests. */
const NO_LOGGER: SlackLogger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};

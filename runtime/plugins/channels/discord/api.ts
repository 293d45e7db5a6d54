/** The calls of Discord's REST interface that a channel makes. Each ends within its time, and waits where Discord asks for a short pause. */

import { setTimeout as sleep } from "node:timers/promises";
import { RateLimitError, type RawFile, REST, type RequestData } from "@discordjs/rest";
import {
  type APIApplicationCommand,
  type APIDMChannel,
  type APIGatewayBotInfo,
  type APIMessage,
  type RESTPostAPIApplicationCommandsJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  type RESTPostAPIInteractionCallbackJSONBody,
  Routes,
} from "discord-api-types/v10";
import { ChannelError } from "../../../contracts/errors.ts";
import { isRecord } from "../../../contracts/values.ts";

export interface DiscordApi {
  gateway(signal: AbortSignal): Promise<APIGatewayBotInfo>;
  /** The conversation with a user alone; it is made where there is none. */
  directChannel(user: string, signal: AbortSignal): Promise<APIDMChannel>;
  /** At most `MOST_MESSAGES`, in no order that is promised. */
  messagesAfter(channel: string, after: string, signal: AbortSignal): Promise<readonly APIMessage[]>;
  createMessage(channel: string, body: MessageBody, files?: readonly RawFile[]): Promise<Pick<APIMessage, "id">>;
  editMessage(channel: string, message: string, body: Partial<MessageBody>): Promise<void>;
  deleteMessage(channel: string, message: string): Promise<void>;
  react(channel: string, message: string, emoji: string): Promise<void>;
  type(channel: string): Promise<void>;
  respond(interaction: InteractionAddress, body: RESTPostAPIInteractionCallbackJSONBody): Promise<void>;
  /** What was answered at first: "is thinking", for instance. */
  editResponse(interaction: InteractionAddress, body: Partial<MessageBody>): Promise<void>;
  commands(application: string, signal: AbortSignal): Promise<readonly APIApplicationCommand[]>;
  setCommands(application: string, commands: Commands, signal: AbortSignal): Promise<void>;
}

export type MessageBody = RESTPostAPIChannelMessageJSONBody;
export type Commands = readonly RESTPostAPIApplicationCommandsJSONBody[];

export interface InteractionAddress {
  readonly application: string;
  readonly id: string;
  /** Of the interaction: it stands for the bot's for 15 minutes. */
  readonly token: string;
}

export interface ApiDeps {
  readonly token: string;
  /** Without the version and a slash at the end. */
  readonly baseUrl: string;
  /** Aborts when the channel stops. */
  readonly signal: AbortSignal;
}

/** Messages of one page (Discord, Get Channel Messages). */
export const MOST_MESSAGES = 100;
/** Milliseconds that a request may take, its pauses included; a file takes longer, and less than the outbox waits for a sender. */
const ANSWER_MS = 20_000;
const UPLOAD_MS = 50_000;
/** Discord takes no first answer to an interaction later than that. */
export const FIRST_ANSWER_MS = 3_000;
/** A longer pause is the caller's to keep. A page that stands before Discord asks for one without saying how long. */
const MOST_PAUSE_MS = 10_000;
const LEAST_PAUSE_MS = 250;

type Method = "get" | "post" | "put" | "patch" | "delete";
type Route = `/${string}`;

/** CHANNEL_CONNECTION_LOST with the pause that Discord asks for; errors of the library. */
export function createApi({ token, baseUrl, signal: stopping }: ApiDeps): DiscordApi {
  // Attempts and pauses are the callers': the library's are not to be aborted.
  const rest = new REST({ api: baseUrl, retries: 0, timeout: UPLOAD_MS, rejectOnRateLimit: () => true });
  stopping.addEventListener("abort", () => {
    rest.clearHashSweeper();
    rest.clearHandlerSweeper();
  });

  async function call(method: Method, route: Route, given: RequestData & { ms?: number } = {}): Promise<unknown> {
    const { ms = ANSWER_MS, signal, ...request } = given;
    const limited = AbortSignal.any([stopping, AbortSignal.timeout(ms), ...(signal ? [signal] : [])]);
    for (;;) {
      try {
        // The library forgets a token that was refused once.
        rest.setToken(token);
        return await rest[method](route, { ...request, signal: limited });
      } catch (error) {
        if (!(error instanceof RateLimitError)) throw error;
        const pauseMs = Math.max(error.retryAfter, LEAST_PAUSE_MS);
        if (pauseMs > MOST_PAUSE_MS) throw pauseAsked(pauseMs);
        await sleep(pauseMs, undefined, { signal: limited }).catch(() => {
          throw pauseAsked(pauseMs);
        });
      }
    }
  }

  /** The types are those of Discord's documentation; that it is Discord which answers is all that is checked. */
  async function object<T>(method: Method, route: Route, given?: RequestData & { ms?: number }): Promise<T> {
    const answer = await call(method, route, given);
    if (!isRecord(answer) || answer instanceof ArrayBuffer) throw notDiscord();
    return answer as T;
  }

  async function list<T>(route: Route, given: RequestData): Promise<readonly T[]> {
    const answer = await call("get", route, given);
    if (!Array.isArray(answer)) throw notDiscord();
    return answer;
  }

  return {
    gateway: (signal) => object("get", Routes.gatewayBot(), { signal }),
    directChannel: (user, signal) => object("post", Routes.userChannels(), { body: { recipient_id: user }, signal }),
    messagesAfter: (channel, after, signal) =>
      list(Routes.channelMessages(channel), {
        query: new URLSearchParams({ after, limit: String(MOST_MESSAGES) }),
        signal,
      }),
    createMessage: (channel, body, files = []) =>
      object("post", Routes.channelMessages(channel), {
        body,
        files: [...files],
        ms: files.length === 0 ? ANSWER_MS : UPLOAD_MS,
      }),
    async editMessage(channel, message, body) {
      await call("patch", Routes.channelMessage(channel, message), { body });
    },
    async deleteMessage(channel, message) {
      await call("delete", Routes.channelMessage(channel, message));
    },
    async react(channel, message, emoji) {
      await call("put", Routes.channelMessageOwnReaction(channel, message, encodeURIComponent(emoji)));
    },
    async type(channel) {
      await call("post", Routes.channelTyping(channel));
    },
    async respond({ id, token: interaction }, body) {
      await call("post", Routes.interactionCallback(id, interaction), { body, auth: false, ms: FIRST_ANSWER_MS });
    },
    async editResponse({ application, token: interaction }, body) {
      await call("patch", Routes.webhookMessage(application, interaction), { body, auth: false });
    },
    commands: (application, signal) => list(Routes.applicationCommands(application), { signal }),
    async setCommands(application, commands, signal) {
      await call("put", Routes.applicationCommands(application), { body: commands, signal });
    },
  };
}

function pauseAsked(ms: number): ChannelError {
  const retryAfterS = Math.ceil(ms / 1_000);
  return new ChannelError("CHANNEL_CONNECTION_LOST", `Discord asks for a pause of ${retryAfterS} s.`, {
    retryAfterS,
    notTaken: true,
  });
}

function notDiscord(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "What answers is not Discord.");
}

/**
 * Receives from Discord's gateway, and reads what was missed between two sessions. A message counts as taken once the inbox has it; where
 * that fails the connection ends, and the message is read again with the next one.
 */

import { GatewayIntentBits, type GatewayReadyDispatchData } from "discord-api-types/v10";
import type { Receiver, Reception } from "../../../contracts/channel.ts";
import { ChannelError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { untilAborted } from "../until-aborted.ts";
import { type DiscordApi, MOST_MESSAGES } from "./api.ts";
import { type BacklogDeps, createBacklog } from "./backlog.ts";
import { createCommandMenu } from "./command-menu.ts";
import { connectionError, hasCode, isRefused, sendingError } from "./errors.ts";
import { connection, type Session } from "./gateway.ts";
import { isMessage, isOwner, isPerson, type ReceivedMessage } from "./inbound.ts";
import { createPositions, isSnowflake } from "./positions.ts";

export interface ReceivingDeps {
  readonly api: DiscordApi;
  readonly token: string;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  /** Whether anybody but the owner may be heard. */
  hearsOthers(): boolean;
  /** False where it is for no agent. Rejects where the message is to come again. `bot`: the bot's own id. */
  take(message: ReceivedMessage, bot: string, signal: AbortSignal): Promise<boolean>;
  /** It is to be taken after others. */
  notice(message: ReceivedMessage, bot: string): void;
  interact(interaction: unknown): void;
}

const INTENTS =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.MessageContent;
/** Connections in a row that do not become one which works, before a session is given up. */
const MOST_RESUMES = 3;
/** Discord's code for a conversation that is gone. */
const UNKNOWN_CHANNEL = 10_003;
/** Milliseconds for the last position, at the end. */
const GOODBYE_MS = 2_000;

/** CHANNEL_CONNECTION_LOST, and errors of `take`. */
export function createReceiving(deps: ReceivingDeps): Receiver["receive"] {
  const { api, token, ownerId, logger, hearsOthers, take, notice, interact } = deps;
  const positions = createPositions();
  const menu = createCommandMenu(api, logger);
  /** Outlives a connection, and a failure of the store. */
  let session: Session | undefined;
  let resumes = 0;
  let bot = "";
  let direct: string | undefined;

  /** The owner's conversation with the bot alone: one that is read from its beginning on. */
  async function openDirect(signal: AbortSignal): Promise<string | undefined> {
    if (ownerId === undefined || direct !== undefined) return undefined;
    try {
      const { id, last_message_id: last } = await api.directChannel(ownerId, signal);
      direct = id;
      positions.pin(id);
      if (positions.of(id) === undefined) positions.advance(id, last ?? "0");
      return undefined;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return `private messages that were missed cannot be read: ${sendingError(error).message}`;
    }
  }

  async function read(conversation: string, after: string, signal: AbortSignal): ReturnType<BacklogDeps["read"]> {
    try {
      const page = await api.messagesAfter(conversation, after, signal);
      const newest = page
        .flatMap(({ id }) => (isSnowflake(id) ? [id] : []))
        .reduce((a, b) => (BigInt(a) > BigInt(b) ? a : b), after);
      return { messages: page.filter(isMessage), next: page.length < MOST_MESSAGES ? undefined : newest };
    } catch (error) {
      if (hasCode(error, UNKNOWN_CHANNEL)) return "gone";
      // The bot may be let in again.
      if (isRefused(error)) return "closed";
      throw error;
    }
  }

  /** Until the signal or `failing` aborts, or a connection ends that did not work, or cannot be resumed. */
  async function stayConnected(
    put: (message: ReceivedMessage) => void,
    { signal, failing, ready }: ConnectedDeps & { readonly signal: AbortSignal; readonly failing: AbortSignal },
  ): Promise<void> {
    const ending = AbortSignal.any([signal, failing]);
    while (!ending.aborted) {
      const ended = await connection({
        url: session?.url ?? (await gatewayUrl(ending)),
        token,
        intents: INTENTS,
        session,
        signal,
        failing,
        onConnected: ready,
        onEvent({ t: type, d: data }) {
          if (type === "MESSAGE_CREATE" && isMessage(data)) put({ ...data, fromGateway: true });
          if (type === "INTERACTION_CREATE") interact(data);
        },
      });
      resumes = ended.hasWorked || ended.error === undefined ? 0 : resumes + 1;
      session = signal.aborted || resumes > MOST_RESUMES ? undefined : ended.session;
      if (ended.error === undefined) return;
      // Discord ends connections now and then. Any other failure is to be followed by a pause.
      if (!ended.hasWorked || session === undefined) throw ended.error;
    }
  }

  async function gatewayUrl(signal: AbortSignal): Promise<string> {
    const { url, session_start_limit: limit } = await api.gateway(signal);
    if (limit.remaining > 0) return url;
    const minutes = Math.ceil(limit.reset_after / 60_000);
    const sentence = `Discord lets the bot begin no session for ${minutes} min: it has begun ${limit.total} since a day ago.`;
    throw new ChannelError("CHANNEL_CONNECTION_LOST", sentence, { retryAfterS: minutes * 60 });
  }

  async function receive({ signal, connected, position }: Reception, failing: AbortController): Promise<void> {
    const ending = AbortSignal.any([signal, failing.signal]);
    const store = () => untilAborted(positions.store(position.keep), ending);
    positions.merge(await untilAborted(position.read(), ending));
    const closed = await openDirect(ending);
    await store();

    const unstored = Promise.withResolvers<never>();
    let isConnected = false;
    let isTaking = false;
    let menuProblem: string | undefined;
    const report = (): void => {
      if (isTaking) connected(closed ?? menuProblem);
    };
    const backlog = createBacklog({
      positions,
      isOwner: (message) => isOwner(message, ownerId),
      isRelevant: (message) => isPerson(message) && (isOwner(message, ownerId) || hearsOthers()),
      take: async (message) => (await untilAborted(take(message, bot, ending), ending)) ?? false,
      notice: (message) => notice(message, bot),
      read: (conversation, after) => read(conversation, after, ending),
      store,
      progress() {
        isTaking = isConnected;
        report();
      },
    });
    const ready = (data: GatewayReadyDispatchData | undefined): void => {
      // What a session has missed follows, unless it was dropped here with the former call.
      if (data || !isConnected) backlog.readAgain();
      isConnected = true;
      if (data) {
        bot = data.user.id;
        void menu.write(data.application.id, ending).then((problem) => {
          menuProblem = problem;
          report();
        });
      }
    };
    const put = (message: ReceivedMessage): void => void backlog.put(message).catch(unstored.reject);
    const work = [stayConnected(put, { signal, failing: failing.signal, ready }), backlog.run(ending)];
    try {
      await Promise.race([...work, unstored.promise]);
    } finally {
      failing.abort();
      await Promise.allSettled(work);
    }
  }

  return async (reception) => {
    const { signal, position } = reception;
    try {
      await receive(reception, new AbortController());
    } catch (error) {
      if (!signal.aborted) throw connectionError(error);
    } finally {
      if (codeOf(signal.reason) !== "RUNTIME_LEASE_LOST") {
        const late = AbortSignal.timeout(GOODBYE_MS);
        await untilAborted(positions.store(position.keep), late).catch((error: unknown) => {
          logger.debug({ err: error }, "what was taken could not be stored");
        });
      }
    }
  };
}

interface ConnectedDeps {
  ready(data: GatewayReadyDispatchData | undefined): void;
}

/**
 * Groups that became supergroups. Telegram refuses what is sent to the former number, and names the new one. Numbers of messages are a
 * chat's own: what refers to a message in another chat than its conversation's names that chat.
 */

import { LRUCache } from "lru-cache";
import { newNumberOf } from "./errors.ts";

export interface Moves {
  /** Sends to the chat, or to what it has become. */
  follow<T>(chat: number, send: (to: number) => Promise<T>): Promise<T>;
}

export function createMoves(): Moves {
  /** By their former numbers; Telegram names them again where they are forgotten. */
  const moved = new LRUCache<number, number>({ max: 500 });
  return {
    async follow(chat, send) {
      const to = moved.get(chat) ?? chat;
      try {
        return await send(to);
      } catch (error) {
        const next = newNumberOf(error);
        if (next === undefined || next === to) throw error;
        moved.set(chat, next);
        return send(next);
      }
    },
  };
}

/** `7`, or `-100123:7` where it is in another chat. */
export function referenceTo(
  chat: number,
  { message_id: id, chat: { id: at } }: { readonly message_id: number; readonly chat: { readonly id: number } },
): string {
  return at === chat ? String(id) : `${at}:${id}`;
}

export function messageAt(chat: number, reference: string): { readonly chat: number; readonly id: number } {
  const [id = "", other] = reference.split(":").reverse();
  return { chat: other === undefined ? chat : Number(other), id: Number(id) };
}

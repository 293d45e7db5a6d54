/** What is used of an update. Of a message that a person cannot have written nothing is; any other part that is not as documented counts as absent. */

import { z } from "zod";

const text = z.string().optional().catch(undefined);
const number = z.int().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);
/** Of a file: the newest methods name it by more than is used. */
const file = z.object({ file_id: z.string(), file_name: text, mime_type: text });
const anyFile = file.optional().catch(undefined);
/** Seconds up to the year 9999, which is what can be stored. */
const seconds = z.number().min(0).max(253_402_300_799);

/** Loose, since some parts are only there or not. */
const message = z.looseObject({
  message_id: z.int(),
  from: z.object({ id: z.int(), is_bot: flag, first_name: text, last_name: text }),
  chat: z.object({ id: z.int(), type: text }),
  date: seconds.optional().catch(undefined),
  text,
  caption: text,
  entities: z
    .array(z.object({ type: z.string(), offset: z.number() }))
    .optional()
    .catch(undefined),
  is_topic_message: flag,
  message_thread_id: number,
  photo: z.array(file).optional().catch(undefined),
  document: anyFile,
  voice: anyFile,
  audio: anyFile,
  video: anyFile,
});

const moved = z.object({ migrate_to_chat_id: z.int(), chat: z.object({ id: z.int() }) });

/** A message of a person's. */
export type PersonMessage = z.infer<typeof message>;
/** A group became a supergroup. */
export interface Move {
  readonly from: number;
  readonly to: number;
}

export type ReadUpdate =
  | { readonly kind: "message"; readonly message: PersonMessage }
  | { readonly kind: "move"; readonly move: Move }
  | { readonly kind: "none" };

const update = z.object({ message: z.unknown() });

export function readUpdate(value: unknown): ReadUpdate {
  const given = update.safeParse(value).data?.message;
  const group = moved.safeParse(given).data;
  if (group) return { kind: "move", move: { from: group.chat.id, to: group.migrate_to_chat_id } };
  const written = message.safeParse(given).data;
  // Posts of channels and of anonymous administrators have nobody to answer for them.
  if (!written || written["sender_chat"] !== undefined || written.from.is_bot) return { kind: "none" };
  return { kind: "message", message: written };
}

/** Undefined: it can be neither confirmed nor recognised. */
export function numberOf(value: unknown): number | undefined {
  return z.object({ update_id: z.int() }).safeParse(value).data?.update_id;
}

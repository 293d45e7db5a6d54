/** Exports of other services as lines of messages: one conversation at a time, so that a file of any size fits into memory. */

import { JSONParser } from "@streamparser/json";
import { UsageError } from "../../output/failure.ts";
import { chatgptConversation } from "./chatgpt.ts";
import { claudeConversation } from "./claude.ts";
import type { ReadExported } from "./message-line.ts";

export const SERVICES = ["chatgpt", "claude"] as const;
export type Service = (typeof SERVICES)[number];

const READERS: Readonly<Record<Service, { readonly name: string; readonly read: ReadExported }>> = {
  chatgpt: { name: "ChatGPT", read: chatgptConversation },
  claude: { name: "Claude", read: claudeConversation },
};

export interface PassedOver {
  /** Messages that are no conversation: hidden ones, those of tools, those of branches that were given up. */
  readonly ignored: number;
  /** Conversations that are not written as the others are. */
  readonly unreadable: number;
}

/** Reads while `take` sends. UsageError for what is no such export; what came before it stays imported, and a repeat skips it. */
export async function importExport<Counts>(
  service: Service,
  bytes: AsyncIterable<Uint8Array>,
  take: (lines: AsyncIterable<Uint8Array>) => Promise<Counts>,
): Promise<Counts & PassedOver> {
  let passed: PassedOver = { ignored: 0, unreadable: 0 };
  let unreadable: unknown;
  async function* lines(): AsyncGenerator<Uint8Array> {
    try {
      yield* exportedLines(service, bytes, (more) => {
        passed = { ignored: passed.ignored + more.ignored, unreadable: passed.unreadable + more.unreadable };
      });
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    return { ...(await take(lines())), ...passed };
  } catch (error) {
    // The request that is cut off by it has no word of why.
    throw unreadable ?? error;
  }
}

/**
 * Lines of the conversations in one or several arrays of JSON, one after the other; `onPassed` is called with what is not among them.
 * UsageError for what is no such export, which its first conversation shows.
 */
async function* exportedLines(
  service: Service,
  bytes: AsyncIterable<Uint8Array>,
  onPassed: (more: PassedOver) => void,
): AsyncGenerator<Uint8Array> {
  const { name, read } = READERS[service];
  let number = 0;
  for await (const conversation of elementsOf(bytes)) {
    number += 1;
    const found = read(conversation);
    if (found === null && number === 1) throw notOf(service, name, conversation);
    onPassed({ ignored: found?.ignored ?? 0, unreadable: found === null ? 1 : 0 });
    if (found !== null && found.lines.length > 0)
      yield Buffer.from(found.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
  if (number === 0) throw new UsageError("The file holds no conversation.", WHICH_FILE);
}

const WHICH_FILE = "It is the file conversations.json of the export, which comes as a zip file.";

async function* elementsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const found: unknown[] = [];
  const parser = new JSONParser({ paths: ["$.*"], keepStack: false, separator: "" });
  parser.onValue = ({ value, key }) => {
    // The members of an object, such as one conversation alone, are no conversations.
    if (typeof key !== "number") throw new UsageError("The file is no list of conversations.", WHICH_FILE);
    found.push(value);
  };
  // Without a handler the parser throws out of the middle of itself.
  let failure: unknown;
  parser.onError = (error) => {
    failure ??= error;
  };
  let first = true;
  for await (const chunk of bytes) {
    if (first && isZip(chunk)) throw zipped();
    first &&= chunk.byteLength === 0;
    try {
      parser.write(chunk);
    } catch (error) {
      failure ??= error;
    }
    yield* found.splice(0);
    if (failure !== undefined) throw notJson(failure);
  }
  if (!parser.isEnded && !first) {
    try {
      parser.end();
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw notJson(failure);
}

function notJson(cause: unknown): UsageError {
  if (cause instanceof UsageError) return cause;
  return new UsageError("The file is no JSON, or ends too early.", WHICH_FILE);
}

function isZip(chunk: Uint8Array): boolean {
  return chunk[0] === 0x50 && chunk[1] === 0x4b;
}

function zipped(): UsageError {
  return new UsageError(
    "The file is a zip file.",
    "Take the conversations out of it: `unzip -p FILE 'conversations*.json' | cairn memory import --from SERVICE -`.",
  );
}

function notOf(service: Service, name: string, conversation: unknown): UsageError {
  const other = SERVICES.find((one) => one !== service && READERS[one].read(conversation) !== null);
  return new UsageError(
    `The file has no conversations of ${name}.`,
    other === undefined ? WHICH_FILE : `They are those of ${READERS[other].name}: \`--from ${other}\`.`,
  );
}

import { isRecord } from "../../../contracts/values.ts";
import { somethingElse } from "../shared/broken-stream.ts";
import { StreamFault } from "../shared/stream-fault.ts";
import type { Watch } from "../shared/watch.ts";

/**
 * The lines of an answer, each checked before the SDK reads it: the SDK prints a line that is not JSON and goes on, and takes
 * an answer without its last line for an unnamed error.
 */
export function checkedLines(body: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> {
  return ReadableStream.from(lines(body, watch));
}

async function* lines(body: ReadableStream<Uint8Array>, watch: Watch): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  let seen = 0;
  let done = false;
  const read = (line: string): Uint8Array => {
    const value = checked(line, seen, watch);
    seen += 1;
    done ||= value["done"] === true;
    return encoder.encode(`${line}\n`);
  };
  for await (const chunk of body) {
    const pieces = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n");
    rest = pieces.pop() ?? "";
    for (const line of pieces.filter((piece) => piece.trim() !== "")) yield read(line);
  }
  // Half a line is a cut; a page is something else.
  const half = parsed(rest) === undefined && (seen > 0 || rest.trimStart().startsWith("{"));
  if (rest.trim() !== "" && !half) yield read(rest);
  if (!done) throw new StreamFault({ kind: "truncated" });
}

function checked(line: string, before: number, watch: Watch): Record<string, unknown> {
  const value = parsed(line);
  if (value === undefined) {
    throw before === 0 && !line.trimStart().startsWith("{")
      ? somethingElse(watch, "lines of JSON")
      : new StreamFault({ kind: "garbage", found: "a line that is not JSON" });
  }
  if ("error" in value) throw new StreamFault({ kind: "event", message: String(value["error"]) });
  if (!isRecord(value["message"]) && value["done"] !== true) {
    throw new StreamFault({ kind: "garbage", found: "a line of an unexpected shape" });
  }
  return value;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

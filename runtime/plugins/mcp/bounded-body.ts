/** A response whose body fails when it holds more bytes than a message may: of an event stream, between two empty lines. */

const LF = 10;
const CR = 13;

/** The body is counted as it is read, after decompression. `onTooLarge` is called once, before the body fails. */
export function boundedBody(response: Response, maxBytes: number, onTooLarge: () => void): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const count = isStream ? eventBytes() : totalBytes();
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk) <= maxBytes) return controller.enqueue(chunk);
      onTooLarge();
      controller.error(new Error("The answer is too large."));
    },
  });
  const { status, statusText } = response;
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers: [...response.headers] });
}

function totalBytes(): (chunk: Uint8Array) => number {
  let total = 0;
  return (chunk) => {
    total += chunk.length;
    return total;
  };
}

/** Bytes since the last empty line; of a chunk with several events, the most that one of them has. */
function eventBytes(): (chunk: Uint8Array) => number {
  let bytes = 0;
  let isLineEmpty = true;
  let afterCr = false;
  return (chunk) => {
    let most = 0;
    for (const byte of chunk) {
      bytes += 1;
      const endsLine = byte === CR || (byte === LF && !afterCr);
      if (endsLine && isLineEmpty) bytes = 0;
      if (endsLine) isLineEmpty = true;
      else if (byte !== LF) isLineEmpty = false;
      afterCr = byte === CR;
      if (bytes > most) most = bytes;
    }
    return most;
  };
}

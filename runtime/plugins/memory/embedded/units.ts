const HEADER = 5;
const QUERY = "Q".charCodeAt(0);
const SYNC = "S".charCodeAt(0);

/**
 * Cuts what a client has sent at once into the parts that the server answers one by one: each ends with a Query or a
 * Sync. The client measures each statement's time from the answer before it, so answers must not wait for each other.
 */
export function* unitsOf(bytes: Uint8Array): Generator<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let start = 0;
  let at = 0;
  // A startup packet has no type byte: it begins with its length, whose first byte is zero, and comes alone.
  while (bytes[at] !== 0 && at + HEADER <= bytes.length) {
    const type = bytes[at];
    at += 1 + view.getUint32(at + 1);
    if (at >= bytes.length) break;
    if (type !== QUERY && type !== SYNC) continue;
    yield bytes.subarray(start, at);
    start = at;
  }
  yield bytes.subarray(start);
}

/** Why there is no connection to a server, in words of ours. */

export class ConnectionFailure extends Error {}

/** Of a connection that could not be made, or whose tools could not be read. */
export function reasonOf(error: unknown): string {
  if (error instanceof ConnectionFailure) return error.message;
  return "its tools cannot be read";
}

/** Why there is no connection to a server, in words of ours. */

export class ConnectionFailure extends Error {}

/** The HTTP client of a node: for the command line, and for other programs as `cairn/client`. */

export { type Client, type ClientOptions, createClient } from "./client.ts";
export type {
  Health,
  MessageRequest,
  SendOptions,
  TokenRecord,
} from "./types.ts";

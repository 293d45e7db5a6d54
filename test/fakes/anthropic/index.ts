import { type FakeOptions, type FakeServer, startFake } from "../shared/server.ts";
import { anthropicWire } from "./wire.ts";

export type { FakeReply, FakeScript, RecordedRequest } from "../shared/script.ts";
export type { FakeServer } from "../shared/server.ts";

/** A messages API on loopback; shared/directives.ts says what it does without a script. */
export function startAnthropicFake(options?: FakeOptions): Promise<FakeServer> {
  return startFake(anthropicWire, options);
}

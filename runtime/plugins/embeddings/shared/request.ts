import { networkReason } from "../../../contracts/system-errors.ts";
import { type Failure, hostOf, type Party, toProviderError } from "../../shared/model-http/failure.ts";

/** One request under a deadline; its timeout is distinguished from the caller's abort. */

export interface RequestPlan<Answer> {
  readonly party: Party;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly send: (signal: AbortSignal) => Promise<Answer>;
  /** What an error of the client library means; undefined for one of the network. */
  readonly explain?: (error: unknown) => Failure | undefined;
}

/** A model server as errors name it. */
export function serverParty(model: string, baseUrl: string, secret: string | undefined): Party {
  const host = hostOf(baseUrl);
  return { subject: `The embedding model "${model}" (${host})`, host, secret, settings: "memory.embedding" };
}

/** A failure found in an answer that arrived. */
export class AnswerError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.failure = failure;
  }
}

export function unusable(found: string): AnswerError {
  return new AnswerError({ kind: "garbage", found });
}

/** Rejects with a ProviderError, or with the reason of the caller's signal. */
export async function request<Answer>(plan: RequestPlan<Answer>): Promise<Answer> {
  const { party, timeoutMs, signal, send, explain } = plan;
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return await send(signal ? AbortSignal.any([signal, deadline]) : deadline);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof AnswerError) throw toProviderError(party, error.failure);
    if (deadline.aborted) throw toProviderError(party, { kind: "silent", timeoutMs, begun: false });
    throw toProviderError(party, explain?.(error) ?? { kind: "unreachable", reason: networkReason(error) });
  }
}

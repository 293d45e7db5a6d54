import type { Provider } from "../../contracts/provider.ts";

/** What an author supplies to the checks: a provider over a backend that does what it is given. */
export interface ProviderHarness {
  /** Asked anew by every check; the steps are those of the requests, in order, and the last one stays. */
  open(script: readonly BackendStep[]): Promise<OpenProvider>;
  /** What the provider does not have: the checks of it are not in the list. */
  readonly lacks?: readonly ProviderFeature[];
}

export type ProviderFeature =
  /** A backend that is reached over a connection, and can be scripted. */
  "server" | "tools";

export type BackendStep =
  | {
      readonly kind: "answer";
      /** One piece of the stream each. */
      readonly text?: readonly string[];
      /** Asked for together. */
      readonly toolCalls?: readonly BackendCall[];
      /** The model came to the limit of its answer. */
      readonly cut?: boolean;
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
    }
  /** Takes the request, and never answers. */
  | { readonly kind: "silence" }
  /** Sends some of these pieces, two at least, and then nothing, without an end. */
  | { readonly kind: "stall"; readonly text: readonly string[] }
  /** Sends some of these pieces, two at least, and then destroys the connection. */
  | { readonly kind: "break"; readonly text: readonly string[] }
  | { readonly kind: "refuse"; readonly status: number; readonly retryAfterS?: number };

export interface BackendCall {
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly json: string;
}

export interface OpenProvider {
  /** With retries of its own switched off, where it has any. */
  readonly provider: Provider;
  /** What the backend has received, in order. */
  requests(): readonly BackendRequest[];
  /** Ends the backend: nothing listens at its address any more. */
  close(): Promise<void>;
}

export interface BackendRequest {
  readonly model: string;
  /** As it came over the wire. */
  readonly body: string;
  /** Whether the client ended the connection before the answer was out. */
  readonly closed: boolean;
}

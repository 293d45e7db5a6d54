/** The files through which a test and the stub providers talk. */

/** `<package>.json`: what stands on the stub's target, by the provider's id. */
export type StubStore = Readonly<
  Record<string, { readonly urn: string; readonly type: string; readonly props: Readonly<Record<string, unknown>> }>
>;

/** One line of `calls.ndjson`. */
export interface StubCall {
  readonly op: "create" | "read" | "update" | "delete";
  readonly urn: string;
  /** The resource's own name on the target; the id for `read`. */
  readonly name: string;
}

/** `faults.json`, read anew at every call. */
export interface Faults {
  /** By `<op> <name>`. `crash` and `hold` happen after a resource was made and before the engine hears of it. */
  readonly at?: Readonly<
    Record<string, { readonly kind: "fail"; readonly message?: string } | { readonly kind: "crash" | "hold" }>
  >;
  /** What `read` finds instead, by id. */
  readonly drift?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

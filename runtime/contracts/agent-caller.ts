/** The caller, as the server has authenticated it. */
export interface AgentCaller {
  /** The token's id: its name may be given to another one later. */
  readonly id: string;
  /** True for the owner's token only. */
  readonly owner: boolean;
}

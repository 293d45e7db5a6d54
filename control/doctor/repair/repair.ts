/**
 * What `--fix` may do: four small things, each of which is whole or not at all. `root` is the directory that the file lies
 * directly in, where agents may write to it: nothing in it is reached through a link.
 */

export type Repair =
  | { readonly kind: "mode"; readonly path: string; readonly from: number; readonly to: number }
  | { readonly kind: "directory"; readonly path: string; readonly mode: number }
  | {
      readonly kind: "create";
      readonly path: string;
      readonly root?: string;
      readonly after: string;
      readonly mode: number;
    }
  /** `before` is the text that was checked: a file that differs by now is not overwritten. */
  | {
      readonly kind: "change";
      readonly path: string;
      readonly root?: string;
      readonly before: string;
      readonly after: string;
    };

/** A repair with the check that asked for it. */
export interface Planned {
  readonly check: string;
  readonly repair: Repair;
}

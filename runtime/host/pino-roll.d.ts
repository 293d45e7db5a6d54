/** pino-roll ships no types; this is the part that the log uses. */
declare module "pino-roll" {
  import type { SonicBoom } from "sonic-boom";

  interface RollOptions {
    readonly file: string;
    readonly extension?: string;
    readonly size?: string;
    readonly limit?: { readonly count: number };
    readonly mkdir?: boolean;
    readonly mode?: number;
    readonly sync?: boolean;
  }

  export default function build(options: RollOptions): Promise<SonicBoom>;
}

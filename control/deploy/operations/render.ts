/** `infra render`: writes the Pulumi project that the other commands work with, and that works by hand as well. */

import type { RenderResult } from "../schemas.ts";
import type { Run } from "./services.ts";

export async function render(
  { dir, services, signal }: Run,
  options: { readonly force: boolean },
): Promise<RenderResult> {
  const { directory, written, unchanged, kept } = await services.render(dir, { ...options, signal });
  return { schema: 1, directory, written: [...written], unchanged: [...unchanged], kept: [...kept] };
}

/** `infra render`: writes the Pulumi project that the other commands work with, and that works by hand as well. */

import type { RenderResult } from "../schemas.ts";
import { givenBackend } from "./backend.ts";
import type { OperationInput } from "./services.ts";

export async function render(run: OperationInput, { force }: { readonly force: boolean }): Promise<RenderResult> {
  const { dir, services, signal } = run;
  const { stack } = (await services.readProject(dir, signal)).plan;
  const backend = await givenBackend(dir, run.backend);
  const { directory, written, unchanged, kept } = await services.render(dir, { stack, backend, force, signal });
  return { schema: 1, directory, written: [...written], unchanged: [...unchanged], kept: [...kept] };
}

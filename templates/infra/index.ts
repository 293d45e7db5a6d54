/** The deployment as a Pulumi program: what `cairn infra up` runs, for `pulumi up` by hand. */
import { join } from "node:path";
import { createProgram, readProject } from "cairn/infra";

export default async () => createProgram(await readProject({ dir: join(import.meta.dirname, "..") }))();

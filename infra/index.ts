/** The infrastructure's public door: what the rendered project's index.ts runs by hand, with the packages of that project. */
import { useProjectPackages } from "./by-hand.ts";

export type { DeploymentPlan, ImageIdentity, Release, SecretValues, StackOutputs } from "./plan/types.ts";
export { createProgram, type ProgramInput, type ProgramOptions, type ProgramOutputs } from "./program.ts";
export { type Project, type ProjectOptions, readProject } from "./project.ts";

useProjectPackages();

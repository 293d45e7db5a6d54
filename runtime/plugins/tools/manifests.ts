import { delegateTask } from "./delegate-task/manifest.ts";
import { fileEdit } from "./file-edit/manifest.ts";
import { fileRead } from "./file-read/manifest.ts";
import { fileWrite } from "./file-write/manifest.ts";
import { memoryBrowse } from "./memory-browse/manifest.ts";
import { memorySearch } from "./memory-search/manifest.ts";
import { shell } from "./shell/manifest.ts";

/** In the order in which agents see them. */
export const TOOLS = [fileRead, fileWrite, fileEdit, shell, memorySearch, memoryBrowse, delegateTask] as const;

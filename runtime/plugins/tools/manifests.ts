import { askUser } from "./ask-user/manifest.ts";
import { codingPipeline } from "./coding-pipeline/manifest.ts";
import { delegateTask } from "./delegate-task/manifest.ts";
import { fileEdit } from "./file-edit/manifest.ts";
import { fileRead } from "./file-read/manifest.ts";
import { fileWrite } from "./file-write/manifest.ts";
import { memoryBrowse } from "./memory-browse/manifest.ts";
import { memoryGetFull } from "./memory-get-full/manifest.ts";
import { memorySearch } from "./memory-search/manifest.ts";
import { memoryStats } from "./memory-stats/manifest.ts";
import { searchGlob } from "./search-glob/manifest.ts";
import { searchGrep } from "./search-grep/manifest.ts";
import { sendFile } from "./send-file/manifest.ts";
import { shell } from "./shell/manifest.ts";
import { skillList } from "./skill-list/manifest.ts";
import { skillManage } from "./skill-manage/manifest.ts";
import { subagentSpawn } from "./subagent-spawn/manifest.ts";
import { todo } from "./todo/manifest.ts";
import { webFetch } from "./web-fetch/manifest.ts";
import { webSearch } from "./web-search/manifest.ts";

/** In the order in which agents see them. */
export const TOOLS = [
  fileRead,
  fileWrite,
  fileEdit,
  searchGlob,
  searchGrep,
  shell,
  memorySearch,
  memoryBrowse,
  memoryStats,
  memoryGetFull,
  askUser,
  sendFile,
  todo,
  skillList,
  skillManage,
  delegateTask,
  subagentSpawn,
  codingPipeline,
  webSearch,
  webFetch,
] as const;

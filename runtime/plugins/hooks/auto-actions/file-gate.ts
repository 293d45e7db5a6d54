/** Where files of a workspace are, and which of them nobody may touch. */

/** Of the file tools' gate. */
export interface FileGate {
  locate(
    workspace: string,
    path: string,
  ): Promise<{ readonly root: string; readonly display: string; readonly exists: boolean }>;
  protectedBelow(root: string): Promise<readonly string[]>;
}

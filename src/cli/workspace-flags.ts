/** The flags about what is brought into a build's workspace, and out of it. */
import type { Command } from 'commander';

export interface WorkspaceFlags {
  readonly workspace?: string;
  readonly workspaceImage: string;
  readonly artifacts: string;
}

/** What the containers that move files are called, or begin with. */
export const helperName = '.workspace';

export function addWorkspaceOptions(command: Command): Command {
  return command
    .optionsGroup('Files in and out:')
    .option('--workspace <dir>', 'bring a local folder in, without what git ignores (default: it starts empty)')
    .option('--artifacts <dir>', 'where artifacts of steps are put, in a folder for each step', 'artifacts')
    .option('--workspace-image <image>', 'image with a shell and tar, which moves the files', 'busybox:1.36')
    .optionsGroup('Options:');
}

/** The shell blocks of a document, and a shell to paste them into. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './local-start.ts';

export interface Block {
  /** the heading above the block */
  readonly heading: string;
  readonly lines: string;
  /** the JSON or text block that directly follows */
  readonly answer: string | undefined;
  readonly isJson: boolean;
}

/** @param path from the root of the repository */
export function blocksIn(path: string): readonly Block[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```(?:\n\n```(json|text)\n(.*?)```)?/gs)].map(([, lines = '', kind, answer], index) => {
    const heading = [...text.slice(0, text.indexOf(lines)).matchAll(/^##+ (.+)$/gm)].at(-1)?.[1] ?? String(index);
    return { heading, lines, answer, isJson: kind !== 'text' };
  });
}

/** The variables that a block sets. The next block's shell needs them again. */
export const settingsIn = (lines: string): readonly string[] => lines.split('\n').filter((line) => /^[A-Z]+=/.test(line));

/**
 * Runs lines in a new shell in this folder.
 * @throws with the output where a line fails
 */
export async function shellIn(folder: string, lines: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return promisify(execFile)('sh', ['-ec', lines], {
    cwd: folder,
    env: {
      ...process.env,
      HOME: folder,
      npm_config_update_notifier: 'false',
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    },
  });
}

/** The shell blocks of a document, and a shell to paste them into. */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
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

/** The lines of a block that set a variable. */
export const settingsIn = (lines: string): readonly string[] => lines.split('\n').filter((line) => /^[A-Z_]+=/.test(line));

const variablesOf = (lines: string): readonly string[] => settingsIn(lines).map((line) => line.slice(0, line.indexOf('=')));

/**
 * Runs lines in a new shell in this folder.
 * @throws with the output where a line fails
 */
async function shellIn(folder: string, lines: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
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

/**
 * The shell of one reader in this folder: the variables of earlier blocks stay set, and no line runs a second time.
 * @returns what pastes lines. It throws where a line fails.
 */
export function readerShell(folder: string): typeof paste {
  const variables = new Map<string, string>();
  const values = join(folder, '.shell-variables');
  async function paste(lines: string): ReturnType<typeof shellIn> {
    const names = variablesOf(lines);
    const before = [...variables].map(([name, value]) => `${name}='${value.replaceAll("'", `'\\''`)}'`);
    const after = names.map((name) => `printf '%s\\0' "$${name}" >> ${values}`);
    rmSync(values, { force: true });
    const printed = await shellIn(folder, [...before, lines, ...after].join('\n'));
    const read = names.length === 0 ? [] : readFileSync(values, 'utf8').split('\0');
    names.forEach((name, index) => variables.set(name, read[index] ?? ''));
    return printed;
  }
  return paste;
}

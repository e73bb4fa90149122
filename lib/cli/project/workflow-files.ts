/** The files of a project that may hold workflows. */
import { globSync } from 'node:fs';
import { matchesGlob, relative, resolve, sep } from 'node:path';
import { CliError } from '../command.ts';
import type { Project } from './project.ts';

const excludedPatterns = ['**/node_modules/**', '**/*.d.{ts,mts}', '**/*.{test,spec}.{ts,mts,js,mjs}'];

/** Relative to the project, with forward slashes, sorted. @throws CliError where there is none, or one is outside of the project */
export function workflowFiles({ root, dirs, ignorePatterns }: Project): readonly string[] {
  const found = dirs.flatMap((dir) => {
    const directory = relative(root, resolve(root, dir)).split(sep).join('/');
    if (directory === '..' || directory.startsWith('../'))
      throw new CliError('config_invalid', `The folder ${dir} is outside of ${root}.`);
    const files = globSync(`**/*.{ts,mts,js,mjs}`, { cwd: resolve(root, dir) }).map((file) => file.split(sep).join('/'));
    return files.map((file) => (directory === '' ? file : `${directory}/${file}`));
  });
  const files = found.filter((file) => ![...excludedPatterns, ...ignorePatterns].some((pattern) => matchesGlob(file, pattern)));
  if (files.length === 0) throw new CliError('build_failed', `There is no workflow file in ${dirs.join(', ')} of ${root}.`);
  return [...new Set(files)].toSorted((left, right) => (left < right ? -1 : 1));
}

/** The files of a project that may hold workflows. */
import { globSync } from 'node:fs';
import { matchesGlob, relative, resolve, sep } from 'node:path';
import { CliFault } from '../command.ts';
import type { Project } from './project.ts';

const never = ['**/node_modules/**', '**/*.d.{ts,mts}', '**/*.{test,spec}.{ts,mts,js,mjs}'];

/** Relative to the project, with forward slashes, sorted. @throws CliFault where there is none, or one is outside of the project */
export function workflowFiles({ root, dirs, ignorePatterns }: Project): readonly string[] {
  const found = dirs.flatMap((dir) => {
    const folder = relative(root, resolve(root, dir)).split(sep).join('/');
    if (folder === '..' || folder.startsWith('../'))
      throw new CliFault('config_invalid', `The folder ${dir} is outside of ${root}.`);
    const files = globSync(`**/*.{ts,mts,js,mjs}`, { cwd: resolve(root, dir) }).map((file) => file.split(sep).join('/'));
    return files.map((file) => (folder === '' ? file : `${folder}/${file}`));
  });
  const files = found.filter((file) => ![...never, ...ignorePatterns].some((pattern) => matchesGlob(file, pattern)));
  if (files.length === 0) throw new CliFault('build_failed', `There is no workflow file in ${dirs.join(', ')} of ${root}.`);
  return [...new Set(files)].toSorted((one, other) => (one < other ? -1 : 1));
}

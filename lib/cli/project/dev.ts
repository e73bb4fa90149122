/** Builds a project whenever one of its files changes, and gives what it built to the embedded cloud. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Action, CliFault, type Shell } from '../command.ts';
import { ship } from '../deployments/ship.ts';
import { faultOf } from '../fault-of.ts';
import { type BuiltProject, buildProject } from './build-project.ts';
import { type Project, projectOf } from './project.ts';
import { workflowFiles } from './workflow-files.ts';

/** Between two looks at the files. A change counts once a look finds nothing new: whoever writes many files has ended by then. */
const lookMs = 200;

export const dev: Action = async (_given, shell) => {
  const project = await projectOf(shell);
  const client = await shell.client({ isEmbedded: true });
  let seen = '';
  let built: BuiltProject | undefined;
  while (!shell.signal.aborted) {
    const sources = built?.sources ?? [];
    const now = await settledFiles(shell, project, sources, seen);
    if (now === undefined) break;
    seen = now;
    try {
      const before = built?.manifest.deploymentId;
      const fresh = await buildProject(shell, project, undefined);
      // Changed meanwhile: it may be half of this and half of that, and the next look finds it anyway.
      if (stampOf(project, sources) !== now) continue;
      built = fresh;
      if (built.manifest.deploymentId === before) continue;
      const { text } = await ship(shell, client, built, { activates: true });
      shell.say(text);
    } catch (trouble) {
      if (shell.signal.aborted) break;
      // It may be mended by the next change: nothing that is wrong now ends this.
      shell.note(trouble instanceof CliFault ? trouble.message : faultOf(trouble).error.message);
    }
  }
  shell.signal.throwIfAborted();
  return { data: {}, text: '' };
};

/** @returns what the files are once they are others than `seen` and stay so; undefined: interrupted */
async function settledFiles(
  { sleep, signal }: Pick<Shell, 'sleep' | 'signal'>,
  project: Project,
  sources: readonly string[],
  seen: string,
): Promise<string | undefined> {
  let last = seen;
  for (;;) {
    const now = stampOf(project, sources);
    if (now !== seen && now === last) return now;
    last = now;
    await sleep(lookMs, signal);
    if (signal.aborted) return undefined;
  }
}

/** Files that may hold workflows, and those that went into the last build. */
function stampOf(project: Project, sources: readonly string[]): string {
  const files = [...filesOf(project).map((file) => join(project.root, file)), ...sources];
  const stamps = [...new Set(files)].map((path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    return `${path} ${found?.mtimeMs ?? 'gone'} ${found?.size ?? 0}`;
  });
  return stamps.join('\n');
}

/** None where there is none at the moment. */
function filesOf(project: Project): readonly string[] {
  try {
    return workflowFiles(project);
  } catch (trouble) {
    if (trouble instanceof CliFault) return [];
    throw trouble;
  }
}
